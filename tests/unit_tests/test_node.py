"""The node: the model's view in graphs, and as the hook of an agent."""

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import ConfigurableField
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import create_react_agent
from pydantic import BaseModel, ValidationError

from langchain_mentor_reducer import MentorChatReducerNode
from langchain_mentor_reducer.options import Options
from tests.scripted import FIRST, GUIDE_TOOLS, SECOND, STEP, ScriptedModel, guide

pytestmark = pytest.mark.filterwarnings("ignore:create_react_agent has been moved")

HISTORY: list[AnyMessage] = [
    HumanMessage("One?", id="q1"),
    AIMessage("1", id="a1"),
    HumanMessage("Two?", id="q2"),
]
THREAD: Any = {"configurable": {"thread_id": "1"}}


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


class HookState(BaseModel):
    """An agent's state as a pydantic model."""

    messages: Annotated[list[AnyMessage], add_messages]
    remaining_steps: int = 10


def own_node(max_messages: int = 1) -> MentorChatReducerNode:
    """A node for the own states."""
    return MentorChatReducerNode(
        max_messages, input_messages_key="history", output_messages_key="window"
    )


@pytest.mark.parametrize("schema", [Own, OwnModel])
@pytest.mark.parametrize("sync", [True, False])
def test_own_graph(schema: Any, sync: bool) -> None:  # noqa: FBT001
    """In a graph with its own keys the node writes the window and leaves the history alone."""
    builder: Any = StateGraph(schema)
    builder.add_node("reduce", own_node())
    builder.add_edge(START, "reduce")
    graph = builder.compile()
    state = {"history": HISTORY, "window": []}
    result = graph.invoke(state) if sync else asyncio.run(graph.ainvoke(state))
    assert result["window"] == HISTORY[2:]
    assert result["history"] == HISTORY


def test_dataclass_state() -> None:
    """The attributes of a dataclass are read as well."""
    assert own_node().invoke(OwnDataclass(HISTORY, [])) == {"window": HISTORY[2:]}


@pytest.mark.parametrize("schema", [None, HookState])
def test_agent_hook(schema: Any) -> None:
    """As a hook the node bounds every model call, and a question is answered from the window."""
    model = ScriptedModel(script=guide)
    agent = create_react_agent(
        model,
        GUIDE_TOOLS,
        pre_model_hook=MentorChatReducerNode(6),
        state_schema=schema,
        checkpointer=InMemorySaver(),
    )
    for question in (FIRST, SECOND):
        state = agent.invoke({"messages": [("user", question)]}, THREAD)
    assert state["messages"][-1].text == "333 m"
    assert len(state["messages"]) == 12
    assert [len(window) for window in model.windows] == [1, 3, 5, 3, 5, 5]


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


def test_equal_keys() -> None:
    """One key for both would merge the window into the history: refused when built."""
    with pytest.raises(ValidationError, match="persist=True"):
        MentorChatReducerNode(9, input_messages_key="m", output_messages_key="m")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "no budget"),
        ({"max_messages": 0}, "at least 1"),
        ({"max_message": 3}, "did you mean max_messages"),
        ({"max_messages": 3, "persist": "yes"}, "valid boolean"),
        ({"max_messages": 3, "on_drop": print}, "persist=True"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    """A wrong option is an error when the node is built."""
    with pytest.raises(ValidationError, match=message):
        MentorChatReducerNode(**options)


def test_takes_every_option() -> None:
    """The node takes the options of every face."""
    assert Options.__annotations__.keys() <= MentorChatReducerNode.model_fields.keys()
    node = MentorChatReducerNode(
        max_turns=1, max_tokens=99, trim_to=0.5, starts_turn=lambda m: m.text != "Two?"
    )
    assert node.invoke({"messages": HISTORY}) == {"llm_input_messages": HISTORY}


def test_configurable() -> None:
    """The budget can be set for one run."""
    node = MentorChatReducerNode(50).configurable_fields(
        max_messages=ConfigurableField(id="max_messages")
    )
    state = {"messages": HISTORY}
    assert node.invoke(state) == {"llm_input_messages": HISTORY}
    small: Any = {"configurable": {"max_messages": 1}}
    assert node.invoke(state, small) == {"llm_input_messages": HISTORY[2:]}


def test_configurable_in_a_graph() -> None:
    """A graph hands the run's budget to the node."""
    builder: Any = StateGraph(Own)
    field = ConfigurableField(id="max_messages")
    builder.add_node("reduce", own_node(50).configurable_fields(max_messages=field))
    builder.add_edge(START, "reduce")
    graph = builder.compile()
    small = {"configurable": {"max_messages": 1}}
    assert graph.invoke({"history": HISTORY}, small)["window"] == HISTORY[2:]


def test_schemas() -> None:
    """The node describes its options, as Studio asks for them."""
    node = MentorChatReducerNode(50)
    assert "max_messages" in type(node).model_json_schema()["properties"]
    assert node.get_input_jsonschema()
    assert node.get_output_jsonschema()["type"] == "object"
    assert node.get_name() == "MentorChatReducerNode"
    assert MentorChatReducerNode(50, name="reduce").get_name() == "reduce"
