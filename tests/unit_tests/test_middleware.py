"""The middleware: the model's view in `create_agent`."""

import asyncio
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, cast

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ModelRequest, ModelResponse
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.tools import tool
from langgraph.runtime import Runtime

from langchain_mentor_reducer import MentorChatReducerMiddleware
from langchain_mentor_reducer.options import Options
from tests.scripted import STEP, ScriptedModel

HISTORY: list[AnyMessage] = [
    HumanMessage("One?", id="q1"),
    AIMessage("1", id="a1"),
    HumanMessage("Two?", id="q2"),
]


def silent() -> ScriptedModel:
    """A model that nobody asks."""
    return ScriptedModel(script=lambda _: AIMessage(""))


def sent(
    middleware: MentorChatReducerMiddleware, messages: Sequence[BaseMessage], **fields: Any
) -> list[AnyMessage]:
    """Return what the model would be sent: the very request, if nothing is to be cut."""
    history = cast("list[AnyMessage]", list(messages))
    request: ModelRequest[Any] = ModelRequest(
        model=silent(), messages=history, state={"messages": history}, runtime=Runtime(), **fields
    )
    response: ModelResponse[Any] = ModelResponse([AIMessage("")])
    requests: list[ModelRequest[Any]] = []

    def handler(request: ModelRequest[Any]) -> ModelResponse[Any]:
        requests.append(request)
        return response

    assert middleware.wrap_model_call(request, handler) is response
    assert request.messages == history
    (seen,) = requests
    assert (seen is request) == (seen.messages == history)
    return seen.messages


@pytest.mark.parametrize("sync", [True, False])
def test_agent(sync: bool) -> None:  # noqa: FBT001
    """Every model call is bounded, the state keeps everything, and the graph has no step more."""
    model = silent()
    agent = create_agent(model, [], middleware=[MentorChatReducerMiddleware(1)])
    asked: Any = {"messages": HISTORY}
    state = agent.invoke(asked) if sync else asyncio.run(agent.ainvoke(asked))
    assert model.windows == [HISTORY[2:]]
    assert state["messages"][:-1] == HISTORY
    assert len(list(agent.stream(asked, stream_mode="updates"))) == 1


def test_system_message_in_the_state() -> None:
    """A system message that stands in the state is kept, and leads."""
    system = SystemMessage("In the state.")
    kept = sent(MentorChatReducerMiddleware(1), [*HISTORY[:2], system, HISTORY[2]])
    assert kept == [system, HISTORY[2]]


def test_nothing_left() -> None:
    """A budget that leaves nothing is an error, as in the node."""
    with pytest.raises(ValueError, match=r"none fits max_messages=9, max_tokens=1"):
        sent(MentorChatReducerMiddleware(9, max_tokens=1), [ToolMessage("A", tool_call_id="a")])


def test_names() -> None:
    """An instance is named after its class, or as it is told: two in an agent need two names."""
    first, second = MentorChatReducerMiddleware(9), MentorChatReducerMiddleware(9, name="second")
    assert (first.name, second.name) == ("MentorChatReducerMiddleware", "second")
    create_agent(silent(), [], middleware=[first, second])
    with pytest.raises(AssertionError, match="duplicate"):
        create_agent(silent(), [], middleware=[first, MentorChatReducerMiddleware(8)])


def test_on_drop_needs_persist() -> None:
    """What would never be called is a `ValueError` when the middleware is built."""
    with pytest.raises(ValueError, match="persist=True"):
        MentorChatReducerMiddleware(3, on_drop=print)


def test_takes_every_option() -> None:
    """The middleware takes the options of every face; `overflow` is `"keep"` unless it is set."""
    options: Options = {
        "max_turns": 1,
        "max_tokens": 99,
        "token_counter": len,
        "overflow": "error",
        "starts_turn": lambda m: m.text != "Two?",
        "trim_to": 1,
        "mend": True,
    }
    assert options.keys() == Options.__annotations__.keys()
    middleware = MentorChatReducerMiddleware(None, **options)
    assert sent(middleware, HISTORY) == HISTORY
    assert middleware.reducer.overflow == "error"
    assert MentorChatReducerMiddleware(9).reducer.overflow == "keep"


def test_overflow() -> None:
    """The newest step stays whole, over the budget."""
    assert sent(MentorChatReducerMiddleware(2), STEP) == STEP
    assert sent(MentorChatReducerMiddleware(2, overflow="trim"), STEP) == STEP[:1]


@tool
def look(place: str) -> str:
    """Look at a place for a good while, so that this description costs some tokens."""
    return place


def test_tokens_cover_the_whole_request() -> None:
    """Tokens are counted with the system prompt and the tools: the context window holds them."""
    system = SystemMessage("Be brief, be kind, be right.")
    whole = count_tokens_approximately([system, *HISTORY], tools=[look])
    fields: dict[str, Any] = {"system_message": system, "tools": [look]}
    assert sent(MentorChatReducerMiddleware(max_tokens=whole), HISTORY, **fields) == HISTORY
    tight = MentorChatReducerMiddleware(max_tokens=whole - 1)
    assert sent(tight, HISTORY, **fields) == HISTORY[2:]
    assert sent(tight, HISTORY, tools=[look]) == HISTORY
    assert sent(tight, HISTORY, system_message=system) == HISTORY


def test_tokens_of_a_counter() -> None:
    """A counter of the user's counts the system prompt; what tools cost it cannot know."""
    fields: dict[str, Any] = {"system_message": SystemMessage("S"), "tools": [look]}
    for most, kept in ((4, HISTORY), (3, HISTORY[2:])):
        middleware = MentorChatReducerMiddleware(max_tokens=most, token_counter=len)
        assert sent(middleware, HISTORY, **fields) == kept


def test_prompt_over_the_budget(caplog: pytest.LogCaptureFixture) -> None:
    """A system prompt that takes the whole budget leaves the newest question, and a warning."""
    middleware = MentorChatReducerMiddleware(max_tokens=1)
    assert sent(middleware, HISTORY, system_message=SystemMessage("Long. " * 50)) == HISTORY[2:]
    assert "does not fit" in caplog.text


def test_without_langchain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without langchain the import fails, and names the extra."""
    monkeypatch.setitem(sys.modules, "langchain.agents.middleware", None)
    monkeypatch.delitem(sys.modules, "langchain_mentor_reducer.middleware")
    with pytest.raises(ImportError, match=r"langchain-mentor-reducer\[agents\]"):
        import_module("langchain_mentor_reducer.middleware")
