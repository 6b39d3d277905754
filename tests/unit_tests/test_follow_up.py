"""Why the package exists: "and the second one?" is answered from what a tool read before."""

from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import before_agent, before_model
from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.prebuilt import create_react_agent
from pydantic import BaseModel

from langchain_mentor_reducer import (
    MentorChatReducerMiddleware,
    MentorChatReducerNode,
    bounded_messages,
)
from tests.acceptance import rivals
from tests.scripted import FIRST, GUIDE_TOOLS, IGNORANT, SECOND, ScriptedModel, guide

BUDGET = 6


def writing(
    hook: Callable[..., Any], reduce: Callable[..., list[BaseMessage]], **options: Any
) -> Any:
    """Make middleware that writes to the state what another rule keeps of it."""

    @hook
    def middleware(state: Any, runtime: Any) -> dict[str, Any]:
        del runtime
        kept = reduce(state["messages"], BUDGET, **options)
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *kept]}

    return middleware


OTHERS = {
    # Before each model call it would take away every result that the model has just asked for.
    "message counting": writing(before_agent, rivals.message_counting),
    "trim_messages as documented": writing(
        before_model, rivals.trimmed, start_on="human", end_on=("human", "tool")
    ),
}


def asked(agent: Any) -> tuple[list[str], int]:
    """Ask for the first tower, then the second; return the answers, and what the thread holds."""
    config: Any = {"configurable": {"thread_id": "tour"}, "recursion_limit": 30}
    answers, held = [], 0
    for question in (FIRST, SECOND):
        messages = agent.invoke({"messages": [HumanMessage(question)]}, config)["messages"]
        answers.append(messages[-1].text)
        held = len(messages)
    return answers, held


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_others_do_not_know(other: Any) -> None:
    """Others cut the tool's result, or the question itself, and the agent does not know."""
    agent = create_agent(
        ScriptedModel(script=guide),
        GUIDE_TOOLS,
        system_prompt="You are a guide.",
        middleware=[other],
        checkpointer=InMemorySaver(),
    )
    assert asked(agent)[0] == ["330 m", IGNORANT]


class Bounded(AgentState[Any]):
    """A state that its channel bounds."""

    messages: Annotated[list[AnyMessage], bounded_messages(BUDGET)]


class HookState(BaseModel):
    """An agent's state as a pydantic model."""

    messages: Annotated[list[AnyMessage], add_messages]
    remaining_steps: int = 10


class BoundedHookState(HookState):
    """The same, bounded by its channel."""

    messages: Annotated[list[AnyMessage], bounded_messages(BUDGET)]


def middleware(**options: Any) -> dict[str, Any]:
    """What `create_agent` takes for ours."""
    return {"middleware": [MentorChatReducerMiddleware(BUDGET, **options)]}


def hook(**options: Any) -> dict[str, Any]:
    """What `create_react_agent` takes for ours."""
    return {"pre_model_hook": MentorChatReducerNode(BUDGET, **options)}


@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
@pytest.mark.parametrize("prompt", [None, "You are a guide."])
@pytest.mark.parametrize(
    ("make", "options", "left"),
    [
        (create_agent, middleware(), 12),
        (create_agent, middleware(persist=True), 6),
        (create_agent, {"state_schema": Bounded}, 6),
        (create_react_agent, hook(), 12),
        (create_react_agent, hook(persist=True), 6),
        (create_react_agent, hook() | {"state_schema": HookState}, 12),
        (create_react_agent, {"state_schema": BoundedHookState}, 6),
    ],
    ids=["view", "persist", "channel", "hook", "hook persist", "pydantic", "hook channel"],
)
def test_ours_answers(
    make: Callable[..., Any], options: dict[str, Any], left: int, prompt: str | None
) -> None:
    """With the same budget the agent answers from what it read a turn ago, on every way in."""
    model = ScriptedModel(script=guide)
    named = "system_prompt" if make is create_agent else "prompt"
    agent = make(model, GUIDE_TOOLS, checkpointer=InMemorySaver(), **options, **{named: prompt})
    assert asked(agent) == (["330 m", "333 m"], left)
    led = int(prompt is not None)
    assert [len(window) - led for window in model.windows] == [1, 3, 5, 3, 5, 5]
