"""The agents that LangGraph's own server serves in the tests."""

from langchain.agents import create_agent

from langchain_mentor_reducer import MentorChatReducerMiddleware
from tests.scripted import GUIDE_TOOLS, ScriptedModel, guide

view = create_agent(
    ScriptedModel(script=guide), GUIDE_TOOLS, middleware=[MentorChatReducerMiddleware(6)]
)
persist = create_agent(
    ScriptedModel(script=guide),
    GUIDE_TOOLS,
    middleware=[MentorChatReducerMiddleware(6, persist=True)],
)
