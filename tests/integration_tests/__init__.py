"""Tests with real servers, databases and clients on this machine."""
