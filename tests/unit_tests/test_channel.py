"""The channel: a state that stays bounded by itself."""

from typing import Annotated, Any, cast

import pytest
from hypothesis import given
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import InvalidUpdateError
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.types import Overwrite
from pydantic import BaseModel
from typing_extensions import TypedDict

from langchain_mentor_reducer import MentorChatReducer, bounded_messages
from tests.scripted import STEP, call, calling
from tests.unit_tests.histories import any_history

pytestmark = pytest.mark.filterwarnings("ignore:create_react_agent has been moved")

THREAD: Any = {"configurable": {"thread_id": "1"}}
WIDE = 9


class State(TypedDict):
    """A bounded state."""

    messages: Annotated[list[AnyMessage], bounded_messages(6)]


class ModelState(BaseModel):
    """The same as a pydantic model."""

    messages: Annotated[list[AnyMessage], bounded_messages(6)]


def channel(max_messages: int = WIDE, *messages: BaseMessage) -> Any:
    """Make a channel that holds some messages."""
    made = bounded_messages(max_messages)
    made.update([list(messages)])
    return made


def graph(schema: Any) -> Any:
    """A graph that says yes."""
    builder: Any = StateGraph(schema)
    builder.add_node("model", lambda _: {"messages": [AIMessage("Yes.")]})
    builder.add_edge(START, "model")
    return builder.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize("schema", [State, ModelState])
def test_own_graph(schema: Any) -> None:
    """An own graph is bounded across turns, whatever the schema is made of."""
    own = graph(schema)
    for number in range(9):
        state = own.invoke({"messages": [("user", f"{number}?")]}, THREAD)
    assert [m.text for m in state["messages"]] == ["6?", "Yes.", "7?", "Yes.", "8?", "Yes."]


def test_parallel_results() -> None:
    """The results of parallel calls arrive one by one, and none of them is stranded."""
    calls = calling(*(call("look", i) for i in "abcd"))
    held = channel(6, HumanMessage("Old?"), AIMessage("Old."), HumanMessage("All?"), calls)
    results = [ToolMessage(i, tool_call_id=i) for i in "abcd"]
    held.update([[result] for result in results])
    assert held.get()[0].text == "All?"
    assert held.get()[1:] == [calls, *results]


@given(history=any_history(with_ids=True))
def test_one_write(history: list[BaseMessage]) -> None:
    """What a channel holds after one write is what the rule keeps of the merged messages."""
    merged = cast("list[BaseMessage]", add_messages([], list[Any](history)))
    _, cut = MentorChatReducer(WIDE, overflow="keep").decide(merged, written=True)
    assert channel(WIDE, *history).get() == cut.of(merged)


def test_add_messages() -> None:
    """Ids are given, a known id replaces, message-likes are converted, removals remove."""
    held = channel(WIDE, HumanMessage("a", id="a"), HumanMessage("b"))
    assert held.get()[1].id is not None
    held.update([[("ai", "c")], [HumanMessage("A", id="a")], {"role": "user", "content": "d"}])
    assert [m.text for m in held.get()] == ["A", "b", "c", "d"]
    held.update([[RemoveMessage(id="a")]])
    assert [m.text for m in held.get()] == ["b", "c", "d"]
    held.update([[RemoveMessage(id=REMOVE_ALL_MESSAGES), AIMessage("e")]])
    assert [m.text for m in held.get()] == ["e"]
    with pytest.raises(ValueError, match="doesn't exist"):
        held.update([[RemoveMessage(id="a")]])


def test_removal_beside_a_cut() -> None:
    """A sibling's removal of a message that this superstep cuts is no error."""
    held = channel(2, HumanMessage("a", id="a"), AIMessage("b"))
    held.update([[HumanMessage("c"), AIMessage("d")], [RemoveMessage(id="a")]])
    assert [m.text for m in held.get()] == ["c", "d"]


def test_overwrite() -> None:
    """`Overwrite` replaces the list, which is then cut; two in a superstep are refused."""
    held = channel(2, HumanMessage("a"))
    history: list[BaseMessage] = [HumanMessage("b"), HumanMessage("c"), AIMessage("d")]
    held.update([[HumanMessage("x")], Overwrite(history), [HumanMessage("y")]])
    assert held.get() == history[1:]
    held.update([{"__overwrite__": history}])
    assert held.get() == history[1:]
    assert history[0].text == "b"
    with pytest.raises(InvalidUpdateError):
        held.update([Overwrite(history), Overwrite(history)])


def test_no_write() -> None:
    """A superstep that writes nothing changes nothing, and the channel says so."""
    held = channel(2, HumanMessage("a"))
    before = held.get()
    assert held.update([]) is False
    assert held.get() is before


def test_copies() -> None:
    """A copy, and a channel made from a checkpoint, are bounded as well."""
    held = channel(2, HumanMessage("a"), AIMessage("b"))
    for other in (held.copy(), held.from_checkpoint(held.checkpoint())):
        other.update([[HumanMessage("c"), AIMessage("d")]])
        assert [m.text for m in other.get()] == ["c", "d"]
        assert other.key == held.key
    assert [m.text for m in held.get()] == ["a", "b"]


def test_equality() -> None:
    """Channels with equal options are equal, so that two schemas may name one key."""
    assert bounded_messages(6) == bounded_messages(6)
    assert bounded_messages(6, max_tokens=9) == bounded_messages(6, max_tokens=9)
    assert bounded_messages(6) != bounded_messages(7)
    assert bounded_messages(6) != bounded_messages(6, trim_to=0.5)

    class Other(TypedDict):
        messages: Annotated[list[AnyMessage], bounded_messages(6)]

    class Unequal(TypedDict):
        messages: Annotated[list[AnyMessage], bounded_messages(7)]

    StateGraph(State, input_schema=Other, output_schema=Other)
    for unequal in (Unequal, MessagesState):
        with pytest.raises(ValueError, match="already exists with a different type"):
            StateGraph(State, input_schema=unequal)


def test_no_room_for_an_answer() -> None:
    """A budget that an answer would push its question out of is a `ValueError`."""
    with pytest.raises(ValueError, match="no room for an answer"):
        bounded_messages(1)


def test_overflow() -> None:
    """The newest step stays whole unless `overflow` says otherwise."""
    assert channel(2, *STEP).get() == STEP
    trimmed = bounded_messages(2, overflow="trim")
    trimmed.update([list(STEP)])
    assert trimmed.get() == STEP[:1]


def test_graph_schema() -> None:
    """The graph describes its state as with `add_messages`."""

    class Plain(TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]

    ours, plain = (graph(s).get_input_jsonschema()["properties"] for s in (State, Plain))
    assert ours == plain


def test_runnable_in_its_place() -> None:
    """`Annotated[list, MentorChatReducer(...)]` fails at the first write, and names the channel."""

    class Wrong(TypedDict):
        messages: Annotated[list[AnyMessage], MentorChatReducer(6)]

    with pytest.raises(TypeError, match="bounded_messages"):
        graph(Wrong).invoke({"messages": [HumanMessage("a")]}, THREAD)
