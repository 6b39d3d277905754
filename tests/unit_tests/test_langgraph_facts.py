"""What LangGraph and LangChain agents do, as far as the package leans on it."""

import operator
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ExtendedModelResponse, wrap_model_call
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import InvalidUpdateError
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.prebuilt import create_react_agent
from langgraph.types import Command, Overwrite

from tests.scripted import ScriptedModel

pytestmark = pytest.mark.filterwarnings("ignore:create_react_agent has been moved")


def echo() -> ScriptedModel:
    """A model that says how many messages it saw."""
    return ScriptedModel(script=lambda window: AIMessage(f"saw {len(window)}"))


ASKED: Any = {"messages": [HumanMessage("a", id="a"), HumanMessage("b", id="b")]}


def hook(update: Callable[[dict[str, Any]], Any]) -> list[str]:
    """Ask an agent with a pre-model hook twice; return what it holds."""
    agent = create_react_agent(echo(), [], pre_model_hook=update, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    agent.invoke(ASKED, config)
    return [m.text for m in agent.invoke({"messages": [HumanMessage("c")]}, config)["messages"]]


def once(state: dict[str, Any]) -> dict[str, Any]:
    """Write a window in the first turn only."""
    return {"llm_input_messages": state["messages"]} if len(state["messages"]) < 3 else {}


@pytest.mark.parametrize(
    ("update", "saw"),
    [
        (lambda state: {"llm_input_messages": state["messages"][-1:]}, (1, 1)),
        (lambda state: {"messages": state["messages"][-1:]}, (2, 4)),
        (once, (2, 2)),
        (lambda _: {"llm_input_messages": []}, (2, 4)),
    ],
    ids=["a window", "merged by id", "the window of an earlier turn", "an empty window"],
)
def test_hook(update: Callable[[dict[str, Any]], Any], saw: tuple[int, int]) -> None:
    """`llm_input_messages` is what the model sees, and leaves the state alone.

    A shorter list under `messages` cuts nothing, a hook that returns no window once feeds the model
    the window of an earlier turn, and an empty window sends the full history.
    """
    assert hook(update) == ["a", "b", f"saw {saw[0]}", "c", f"saw {saw[1]}"]


def test_hook_list() -> None:
    """A hook may not return a bare list."""
    with pytest.raises(InvalidUpdateError):
        hook(lambda state: state["messages"])


def test_undeclared_key() -> None:
    """A key that the schema does not declare is dropped without a word."""
    builder: Any = StateGraph(MessagesState)
    builder.add_node("reduce", lambda state: {"window": state["messages"][-1:]})
    builder.add_edge(START, "reduce")
    result = builder.compile().invoke({"messages": [("user", "a"), ("user", "b")]})
    assert list(result) == ["messages"]


def test_hook_costs_a_superstep() -> None:
    """A hook costs a superstep for each model call, `wrap_model_call` does not."""

    @wrap_model_call
    def middleware(request: Any, handler: Callable[[Any], Any]) -> Any:
        return handler(request)

    agent = create_agent(echo(), [], middleware=[middleware])
    hooked = create_react_agent(
        echo(), [], pre_model_hook=lambda state: {"llm_input_messages": state["messages"]}
    )
    for each, steps in ((agent, 1), (hooked, 2)):
        assert len(list(each.stream(ASKED, stream_mode="updates"))) == steps


def test_ids_are_stamped() -> None:
    """`add_messages` gives ids to the message objects themselves."""
    message = HumanMessage("a")
    add_messages([], message)
    assert message.id is not None


def streamed(update: Callable[[list[BaseMessage]], Any]) -> list[str | None]:
    """The ids that a client sees when a node updates a state of three messages."""
    builder = StateGraph(MessagesState)
    builder.add_node("cut", lambda state: {"messages": update(state["messages"])})
    builder.add_edge(START, "cut")
    history: list[AnyMessage] = [HumanMessage(i, id=i) for i in "abc"]
    stream = builder.compile().stream({"messages": history}, stream_mode="messages")
    return [message.id for message, _ in stream]  # type: ignore[union-attr]


def test_what_is_streamed() -> None:
    """A client that streams messages sees new ids and the marker that removes all, not removals."""
    marker = RemoveMessage(id=REMOVE_ALL_MESSAGES)
    assert streamed(lambda _: [RemoveMessage(id="a")]) == []
    assert streamed(lambda _: Overwrite([])) == []
    assert streamed(lambda history: [marker, *history[1:]]) == [REMOVE_ALL_MESSAGES]
    assert streamed(lambda history: history) == []
    assert streamed(lambda history: [history[0].model_copy(update={"id": "new"})]) == ["new"]


def test_reducer_function_is_applied_per_write() -> None:
    """A plain reducer sees the writes of one superstep one by one, a channel sees them together."""
    sizes: list[int] = []

    def note(left: list[Any], right: list[Any]) -> list[Any]:
        sizes.append(len(right))
        return left + right

    class State(TypedDict):
        messages: Annotated[list[Any], note]

    builder = StateGraph(State)
    builder.add_node("one", lambda _: {"messages": [1]})
    builder.add_node("two", lambda _: {"messages": [2]})
    builder.add_edge(START, "one")
    builder.add_edge(START, "two")
    builder.compile().invoke({"messages": []})
    assert sizes == [0, 1, 1]


def test_command_of_a_model_call() -> None:
    """`wrap_model_call` can write the state: in the answer's superstep, and unseen by a stream."""

    @wrap_model_call
    def cut_first(request: Any, handler: Callable[[Any], Any]) -> Any:
        removal = RemoveMessage(id=request.messages[0].id)
        return ExtendedModelResponse(handler(request), Command(update={"messages": [removal]}))

    agent = create_agent(echo(), [], middleware=[cut_first])
    modes: Any = ["messages", "values"]
    parts: list[Any] = list(agent.stream(ASKED, stream_mode=modes))
    states = [data["messages"] for mode, data in parts if mode == "values"]
    assert [[m.text for m in state] for state in states] == [["a", "b"], ["b", "saw 2"]]
    assert [data[0].text for mode, data in parts if mode == "messages"] == ["saw 2"]


def test_request_holds_the_state() -> None:
    """A request holds the very objects of the state, without the system prompt."""
    seen: list[bool] = []

    @wrap_model_call
    def middleware(request: Any, handler: Callable[[Any], Any]) -> Any:
        seen.append(all(map(operator.is_, request.messages, request.state["messages"])))
        return handler(request)

    agent = create_agent(echo(), [], system_prompt="Short.", middleware=[middleware])
    assert agent.invoke({"messages": [HumanMessage("a")]})["messages"][-1].text == "saw 2"
    assert seen == [True]
