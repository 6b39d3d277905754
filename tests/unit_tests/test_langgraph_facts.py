"""What LangGraph and LangChain agents do, as far as the package leans on it."""

import operator
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ExtendedModelResponse,
    before_model,
    wrap_model_call,
)
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
)
from langgraph.channels.binop import BinaryOperatorAggregate
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


def hook(update: Callable[[dict[str, Any]], Any], *, turns: int = 1) -> tuple[list[str], list[str]]:
    """Run an agent with a pre-model hook; return what the model said and what the state holds."""
    agent = create_react_agent(echo(), [], pre_model_hook=update, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    messages: list[BaseMessage] = []
    for turn in range(turns):
        messages = agent.invoke({"messages": [("user", f"{turn}"), ("user", "b")]}, config)[
            "messages"
        ]
    return [m.text for m in messages if isinstance(m, AIMessage)], [m.text for m in messages]


def test_hook_window() -> None:
    """`llm_input_messages` is what the model sees, and leaves the state alone."""
    said, held = hook(lambda state: {"llm_input_messages": state["messages"][-1:]})
    assert (said, held) == (["saw 1"], ["0", "b", "saw 1"])


def test_hook_messages_merge() -> None:
    """A shorter list under `messages` is merged by id, and cuts nothing."""
    said, held = hook(lambda state: {"messages": state["messages"][-1:]})
    assert (said, held) == (["saw 2"], ["0", "b", "saw 2"])


def test_hook_stale_window() -> None:
    """A hook that returns no window once feeds the model the window of an earlier turn."""

    def update(state: dict[str, Any]) -> dict[str, Any]:
        return {"llm_input_messages": state["messages"]} if len(state["messages"]) < 3 else {}

    said, _ = hook(update, turns=2)
    assert said == ["saw 2", "saw 2"]


def test_hook_empty_window() -> None:
    """An empty window sends the full history."""
    said, _ = hook(lambda _: {"llm_input_messages": []})
    assert said == ["saw 2"]


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
    asked: Any = {"messages": [HumanMessage("a")]}

    @wrap_model_call
    def middleware(request: Any, handler: Callable[[Any], Any]) -> Any:
        return handler(request)

    agent = create_agent(echo(), [], middleware=[middleware])
    assert len(list(agent.stream(asked, stream_mode="updates"))) == 1
    hooked = create_react_agent(
        echo(), [], pre_model_hook=lambda state: {"llm_input_messages": state["messages"]}
    )
    assert len(list(hooked.stream(asked, stream_mode="updates"))) == 2


def test_removal_by_unknown_id() -> None:
    """`add_messages` refuses to remove what is not there."""
    with pytest.raises(ValueError, match="doesn't exist"):
        add_messages([], RemoveMessage(id="x"))


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


def test_removal_by_id_is_not_streamed() -> None:
    """A client that streams messages sees the marker that removes all, and no removal by id."""
    assert streamed(lambda _: [RemoveMessage(id="a")]) == []
    assert streamed(lambda _: Overwrite([])) == []
    marker = RemoveMessage(id=REMOVE_ALL_MESSAGES)
    assert streamed(lambda history: [marker, *history[1:]]) == [REMOVE_ALL_MESSAGES]


def test_new_ids_are_streamed() -> None:
    """A copy under a new id reaches the client as a new message, the same object does not."""
    assert streamed(lambda history: history) == []
    assert streamed(lambda history: [history[0].model_copy(update={"id": "new"})]) == ["new"]


def test_overwrite_behind_an_answer() -> None:
    """`Overwrite` takes the place of what was written before it in the same superstep."""
    channel: Any = BinaryOperatorAggregate[Any](list, add_messages)
    question, answer = HumanMessage("a", id="a"), AIMessage("b", id="b")
    channel.update([[question]])
    channel.update([[answer], Overwrite([answer])])
    assert channel.get() == [answer]


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


class CutFirst(AgentMiddleware[Any, Any, Any]):
    """Removes the first message together with the answer."""

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Return the answer and the removal."""
        response = handler(request)
        removal = RemoveMessage(id=request.messages[0].id)
        return ExtendedModelResponse(response, Command(update={"messages": [removal]}))


def test_command_of_a_model_call() -> None:
    """`wrap_model_call` can write the state: in the answer's superstep, and unseen by a stream."""
    agent = create_agent(echo(), [], middleware=[CutFirst()])
    asked: Any = {"messages": [HumanMessage("a", id="a"), HumanMessage("b", id="b")]}
    modes: Any = ["messages", "values"]
    parts: list[Any] = list(agent.stream(asked, stream_mode=modes))
    states = [data["messages"] for mode, data in parts if mode == "values"]
    assert [[m.text for m in state] for state in states] == [["a", "b"], ["b", "saw 2"]]
    assert [data[0].text for mode, data in parts if mode == "messages"] == ["saw 2"]


def test_failed_model_call_writes_nothing() -> None:
    """When the model fails, no command of `wrap_model_call` is applied."""

    def fail(_: list[BaseMessage]) -> AIMessage:
        msg = "overloaded"
        raise RuntimeError(msg)

    agent = create_agent(
        ScriptedModel(script=fail), [], middleware=[CutFirst()], checkpointer=InMemorySaver()
    )
    config: Any = {"configurable": {"thread_id": "1"}}
    with pytest.raises(RuntimeError, match="overloaded"):
        agent.invoke({"messages": [HumanMessage("a")]}, config)
    assert [m.text for m in agent.get_state(config).values["messages"]] == ["a"]


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


def test_equal_names_are_refused() -> None:
    """An agent refuses two middlewares of one name."""

    @before_model
    def middleware(state: Any, runtime: Any) -> None:
        del state, runtime

    with pytest.raises(AssertionError, match="duplicate"):
        create_agent(echo(), [], middleware=[middleware, middleware])


def test_channels_of_one_key_must_be_equal() -> None:
    """Two schemas of a graph that name one key with unequal channels do not compile."""

    class State(TypedDict):
        messages: Annotated[list[AnyMessage], BinaryOperatorAggregate(list, add_messages)]

    class Other(TypedDict):
        messages: Annotated[list[AnyMessage], BinaryOperatorAggregate(list, max)]

    StateGraph(State, input_schema=State)
    with pytest.raises(ValueError, match="already exists with a different type"):
        StateGraph(State, input_schema=Other)
