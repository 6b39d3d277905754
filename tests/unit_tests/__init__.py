"""Tests without network, with real LangChain and LangGraph parts."""
