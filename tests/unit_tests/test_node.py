"""The node: the model's view in graphs, and as the hook of an agent."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import ConfigurableField
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import create_react_agent
from pydantic import BaseModel, ValidationError

from langchain_mentor_reducer import (
    MentorChatReducerMiddleware,
    MentorChatReducerNode,
    bounded_messages,
)
from langchain_mentor_reducer.options import Options
from tests.scripted import STEP, ScriptedModel

pytestmark = pytest.mark.filterwarnings("ignore:create_react_agent has been moved")

HISTORY: list[AnyMessage] = [
    HumanMessage("One?", id="q1"),
    AIMessage("1", id="a1"),
    HumanMessage("Two?", id="q2"),
]


class Own(TypedDict):
    """A state with keys of its own."""

    history: Annotated[list[AnyMessage], add_messages]
    window: list[AnyMessage]


class OwnModel(BaseModel):
    """The same as a pydantic model."""

    history: Annotated[list[AnyMessage], add_messages]
    window: list[AnyMessage] = []


@dataclass
class OwnDataclass:
    """The same as a dataclass."""

    history: Annotated[list[AnyMessage], add_messages]
    window: list[AnyMessage]


def own_node(max_messages: int = 1) -> MentorChatReducerNode:
    """A node for the own states."""
    return MentorChatReducerNode(
        max_messages, input_messages_key="history", output_messages_key="window"
    )


def own_graph(schema: Any, node: Any) -> Any:
    """A graph that is the node alone."""
    builder: Any = StateGraph(schema)
    builder.add_node("reduce", node)
    builder.add_edge(START, "reduce")
    return builder.compile()


@pytest.mark.parametrize("schema", [Own, OwnModel])
@pytest.mark.parametrize("sync", [True, False])
def test_own_graph(schema: Any, sync: bool) -> None:  # noqa: FBT001
    """In a graph with its own keys the node writes the window and leaves the history alone."""
    graph, state = own_graph(schema, own_node()), {"history": HISTORY, "window": []}
    result = graph.invoke(state) if sync else asyncio.run(graph.ainvoke(state))
    assert result == {"history": HISTORY, "window": HISTORY[2:]}


def test_dataclass_state() -> None:
    """The attributes of a dataclass are read as well."""
    assert own_node().invoke(OwnDataclass(HISTORY, [])) == {"window": HISTORY[2:]}


def test_empty_history() -> None:
    """An agent without messages is legal: the prompt alone is sent."""
    model = ScriptedModel(script=lambda _: AIMessage("Hello!"))
    agent = create_react_agent(model, [], prompt="Greet.", pre_model_hook=MentorChatReducerNode(6))
    assert [m.text for m in agent.invoke({"messages": []})["messages"]] == ["Hello!"]


def test_window_is_always_written() -> None:
    """The window is written even if nothing is cut, and holds the same objects."""
    update = MentorChatReducerNode(50).invoke({"messages": HISTORY})
    assert list(update) == ["llm_input_messages"]
    assert all(a is b for a, b in zip(update["llm_input_messages"], HISTORY, strict=True))


def test_newest_step_is_kept_whole() -> None:
    """In an agent the newest step stays whole, over the budget, or it would be called again."""
    assert MentorChatReducerNode(2).invoke({"messages": STEP}) == {"llm_input_messages": STEP}
    trimmed = MentorChatReducerNode(2, overflow="trim").invoke({"messages": STEP})
    assert trimmed == {"llm_input_messages": STEP[:1]}


def test_nothing_left() -> None:
    """A budget that leaves nothing is an error that names it: an empty window would mean all."""
    node = MentorChatReducerNode(9, max_tokens=1)
    with pytest.raises(ValueError, match=r"Of 1 messages none fits max_messages=9, max_tokens=1"):
        node.invoke({"messages": [ToolMessage("A long result.", tool_call_id="gone")]})


def test_list_is_refused() -> None:
    """A list is the business of `MentorChatReducer`, and the error says so."""
    with pytest.raises(TypeError, match="MentorChatReducer"):
        MentorChatReducerNode(9).invoke(HISTORY)


@pytest.mark.parametrize("state", [{"history": HISTORY}, OwnDataclass(HISTORY, [])])
def test_missing_key(state: Any) -> None:
    """A state without the key is an error that names the option."""
    with pytest.raises(ValueError, match=r"no 'messages': .* input_messages_key"):
        MentorChatReducerNode(9).invoke(state)


@pytest.mark.parametrize(
    "face", [MentorChatReducerNode, MentorChatReducerMiddleware, bounded_messages]
)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "no budget"),
        ({"max_messages": 0}, "at least 1"),
        ({"max_messages": True}, "whole number"),
        ({"max_message": 3}, "did you mean max_messages"),
    ],
)
def test_wrong_options(face: Callable[..., Any], options: dict[str, Any], message: str) -> None:
    """A wrong option is an error when a node, a middleware or a channel is built."""
    with pytest.raises(ValueError, match=message):
        face(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"persist": "yes"}, "valid boolean"),
        ({"on_drop": print}, "persist=True"),
        ({"input_messages_key": "m", "output_messages_key": "m"}, "persist=True"),
    ],
)
def test_wrong_together(options: dict[str, Any], message: str) -> None:
    """What would never be called, or would merge the window into the history, is refused."""
    with pytest.raises(ValidationError, match=message):
        MentorChatReducerNode(9, **options)


def test_takes_every_option() -> None:
    """The node takes the options of every face."""
    assert Options.__annotations__.keys() <= MentorChatReducerNode.model_fields.keys()
    node = MentorChatReducerNode(
        max_turns=1, max_tokens=99, trim_to=0.5, starts_turn=lambda m: m.text != "Two?"
    )
    assert node.invoke({"messages": HISTORY}) == {"llm_input_messages": HISTORY}


def test_configurable() -> None:
    """The budget can be set for one run, and a graph hands it to the node."""
    field = ConfigurableField(id="max_messages")
    node = own_node(50).configurable_fields(max_messages=field)
    small: Any = {"configurable": {"max_messages": 1}}
    for each in (node, own_graph(Own, node)):
        assert each.invoke({"history": HISTORY})["window"] == HISTORY
        assert each.invoke({"history": HISTORY}, small)["window"] == HISTORY[2:]


def test_schemas() -> None:
    """The node describes its options, as Studio asks for them."""
    node = MentorChatReducerNode(50)
    assert "max_messages" in type(node).model_json_schema()["properties"]
    assert node.get_input_jsonschema()
    assert node.get_output_jsonschema()["type"] == "object"
    assert node.get_name() == "MentorChatReducerNode"
    assert MentorChatReducerNode(50, name="reduce").get_name() == "reduce"
