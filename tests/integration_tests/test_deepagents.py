"""Beside deepagents, whose summarization keeps an index into the state's messages."""

from pathlib import Path
from typing import Any

import pytest
from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend
from deepagents.middleware.summarization import SummarizationMiddleware
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from langchain_mentor_reducer import MentorChatReducerMiddleware
from tests.refusals import refusal
from tests.scripted import FIRST, GUIDE_TOOLS, SECOND, ScriptedModel, guide

THREAD: Any = {"configurable": {"thread_id": "1"}, "recursion_limit": 200}


def ask(agent: Any, *questions: str) -> str:
    """Ask an agent on its thread; return its last answer."""
    for question in questions:
        messages = agent.invoke({"messages": [HumanMessage(question)]}, THREAD)["messages"]
    return str(messages[-1].text)


def test_a_deep_agent() -> None:
    """A deep agent with the middleware answers the follow-up, within the budget."""
    model = ScriptedModel(script=guide)
    agent = create_deep_agent(
        model,
        tools=GUIDE_TOOLS,
        middleware=[MentorChatReducerMiddleware(6)],
        checkpointer=InMemorySaver(),
    )
    remarks = [f"Remark {n}." for n in range(10)]
    assert ask(agent, *remarks, FIRST, SECOND) == "333 m"
    assert [refusal(window) for window in model.windows if refusal(window)] == []
    assert max(map(len, model.windows)) <= 7  # the system prompt is among them


def summarizing(home: Path, *, persist: bool, behind: bool) -> tuple[ScriptedModel, Any]:
    """Make an agent with deepagents' summarization at ten messages, and ours at twelve."""
    model = ScriptedModel(script=guide)
    summarize: Any = SummarizationMiddleware(
        ScriptedModel(script=lambda _: AIMessage("They talked.")),
        backend=FilesystemBackend(home, virtual_mode=True),
        trigger=("messages", 10),
        keep=("messages", 8),
        trim_tokens_to_summarize=None,
    )
    ours = MentorChatReducerMiddleware(12, persist=persist)
    middleware = [summarize, ours] if behind else [ours, summarize]
    agent = create_agent(model, GUIDE_TOOLS, middleware=middleware, checkpointer=InMemorySaver())
    return model, agent


def test_view_behind_summarization(tmp_path: Path) -> None:
    """Behind the summarization, the view keeps its summary, and every call is right."""
    model, agent = summarizing(tmp_path, persist=False, behind=True)
    remarks = [f"Remark {n}." for n in range(10)]
    assert ask(agent, *remarks, FIRST, SECOND) == "333 m"
    assert any(m.additional_kwargs.get("lc_source") == "summarization" for m in model.windows[-1])
    assert [refusal(window) for window in model.windows if refusal(window)] == []
    assert max(map(len, model.windows)) <= 12


@pytest.mark.parametrize("behind", [True, False])
def test_persist_is_refused(tmp_path: Path, behind: bool) -> None:  # noqa: FBT001
    """Cutting the state would move what the index points to: refused, and view mode is named."""
    _, agent = summarizing(tmp_path, persist=True, behind=behind)
    with pytest.raises(ValueError, match="persist=False"):
        ask(agent, *(f"Remark {n}." for n in range(30)))
