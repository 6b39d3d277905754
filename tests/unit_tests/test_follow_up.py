"""Why the package exists: "and the second one?" is answered from what a tool read before."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, before_agent, before_model
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
    trim_messages,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from langchain_mentor_reducer import MentorChatReducerMiddleware
from tests.scripted import FIRST, GUIDE_TOOLS, IGNORANT, SECOND, ScriptedModel, guide

BUDGET = 6
Middleware = AgentMiddleware[Any, Any, Any]


def counting_rule() -> Middleware:
    """The rule of MessageCountingChatReducer: between turns, the last that neither call nor answer.

    It stands before the agent, where it does best: before each model call it would take away every
    result that the model has just asked for.
    """

    @before_agent
    def middleware(state: Any, runtime: Any) -> dict[str, Any]:
        del runtime
        plain: list[BaseMessage] = [
            m
            for m in state["messages"]
            if not isinstance(m, ToolMessage) and not (isinstance(m, AIMessage) and m.tool_calls)
        ]
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *plain[-BUDGET:]]}

    return middleware


def trim_as_documented() -> Middleware:
    """`trim_messages` with the options its page shows, written to the state as its page shows."""

    @before_model
    def middleware(state: Any, runtime: Any) -> dict[str, Any]:
        del runtime
        kept: list[BaseMessage] = trim_messages(
            state["messages"],
            strategy="last",
            token_counter=len,
            max_tokens=BUDGET,
            start_on="human",
            end_on=("human", "tool"),
            include_system=True,
        )
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *kept]}

    return middleware


def asked(middleware: Middleware) -> tuple[str, str]:
    """Ask an agent on one thread for the first tower, then for the second."""
    agent = create_agent(
        ScriptedModel(script=guide),
        GUIDE_TOOLS,
        system_prompt="You are a guide.",
        middleware=[middleware],
        checkpointer=InMemorySaver(),
    )
    config: Any = {"configurable": {"thread_id": "tour"}, "recursion_limit": 30}
    answers = []
    for question in (FIRST, SECOND):
        messages = agent.invoke({"messages": [HumanMessage(question)]}, config)["messages"]
        answers.append(messages[-1].text)
    return answers[0], answers[1]


@pytest.mark.parametrize("reduce", [counting_rule, trim_as_documented])
def test_others_do_not_know(reduce: Callable[[], Middleware]) -> None:
    """Others cut the tool's result, or the question itself, and the agent does not know."""
    assert asked(reduce()) == ("330 m", IGNORANT)


@pytest.mark.parametrize("persist", [False, True], ids=["view", "persist"])
def test_ours_answers(persist: bool) -> None:  # noqa: FBT001
    """With the same budget the agent answers from what it read a turn ago."""
    assert asked(MentorChatReducerMiddleware(BUDGET, persist=persist)) == ("330 m", "333 m")
