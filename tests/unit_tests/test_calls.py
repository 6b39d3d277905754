"""Which content calls, which answers, and what is left of a message without some answers."""

from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    ToolMessage,
)

from langchain_mentor_reducer import reduce_messages
from langchain_mentor_reducer.calls import (
    ANSWERS,
    CALLS,
    answers_of,
    calls_of,
    only_answers,
    without,
)
from tests.unit_tests.reference import ANSWER_BLOCKS, CALL_BLOCKS

TEXT = {"type": "text", "text": "And then?"}


def test_tables_are_whole() -> None:
    """Every block that calls or answers is in its table, in order, with the key of its id."""
    assert list(CALLS.items()) == sorted(CALL_BLOCKS.items())
    assert list(ANSWERS.items()) == sorted(ANSWER_BLOCKS.items())


@pytest.mark.parametrize(("kind", "key"), CALL_BLOCKS.items())
def test_block_calls(kind: str, key: str) -> None:
    """A block calls wherever it may stand, and without an id it calls nobody."""
    block = {"type": kind, key: "c"}
    assert calls_of(AIMessage([block])) == ["c"]
    assert calls_of(AIMessage(["text", TEXT, block])) == ["c"]
    assert calls_of(AIMessage([{"type": "non_standard", "value": block}])) == ["c"]
    assert calls_of(AIMessage("", additional_kwargs={"tool_outputs": [block]})) == ["c"]
    for id_ in (None, "", 3, ["c"]):
        assert calls_of(AIMessage([block | {key: id_}])) == []
    assert calls_of(AIMessage([{"type": kind}])) == []


@pytest.mark.parametrize(("kind", "key"), ANSWER_BLOCKS.items())
def test_block_answers(kind: str, key: str) -> None:
    """A block of a user message answers, each for itself, and a text beside it does not."""
    block = {"type": kind, key: "c"}
    wrapped = {"type": "non_standard", "value": block}
    assert answers_of(HumanMessage([block, TEXT, "text", wrapped])) == {0: "c", 3: "c"}
    assert answers_of(HumanMessage([block | {key: ""}])) == {}
    assert only_answers(HumanMessage([block, wrapped])) is True
    assert only_answers(HumanMessage([block, TEXT])) is False


def test_tool_calls() -> None:
    """Valid and invalid calls count, chunks too, and one without an id does not."""
    call: dict[str, Any] = {"name": "look_up", "args": {}, "id": "a"}
    invalid: dict[str, Any] = {"name": "look_up", "args": "{", "id": "b", "error": None}
    nameless = [call | {"id": None}, call | {"id": ""}]
    message = AIMessage(
        "", tool_calls=[call, *nameless], invalid_tool_calls=[invalid, invalid | {"id": None}]
    )
    assert calls_of(message) == ["a", "b"]
    chunk = AIMessageChunk(
        content="", tool_call_chunks=[{"name": "look_up", "args": "{}", "id": "c", "index": 0}]
    )
    assert calls_of(chunk) == ["c"]


def test_legacy_function() -> None:
    """A legacy function call pairs by its name, and by nothing else."""
    legacy = {"function_call": {"name": "look_up", "arguments": "{}"}}
    assert calls_of(AIMessage("", additional_kwargs=legacy)) == [("function", "look_up")]
    answer = FunctionMessage(content="81 m", name="look_up")
    assert answers_of(answer) == {0: ("function", "look_up")}
    assert answers_of(FunctionMessage(content="81 m", name="")) == {}
    for wrong in (None, "look_up", {}, {"name": None}):
        assert calls_of(AIMessage("", additional_kwargs={"function_call": wrong})) == []
    assert calls_of(AIMessage("", additional_kwargs={"tool_outputs": "none"})) == []


def test_tool_message() -> None:
    """A tool result answers one call, or, with an empty id, none."""
    assert answers_of(ToolMessage([TEXT], tool_call_id="a")) == {0: "a"}
    assert answers_of(ToolMessage("", tool_call_id="")) == {}


@pytest.mark.parametrize(
    "message",
    [HumanMessage("Hi."), ToolMessage("", tool_call_id="a"), ChatMessage(content="", role="ai")],
)
def test_only_the_model_calls(message: BaseMessage) -> None:
    """No other message makes calls."""
    assert calls_of(message) == []


@pytest.mark.parametrize("content", ["", "Hi.", [], ["text"], [TEXT], [{}], [{"type": ["x"]}]])
def test_what_asks(content: Any) -> None:
    """Whatever is not made of answers alone asks something, an empty content too."""
    assert not only_answers(HumanMessage(content))
    assert answers_of(HumanMessage(content)) == {}


def test_only_a_wrapper_is_unwrapped() -> None:
    """A block that happens to have a value is read itself, not what its value looks like."""
    value = {"type": "tool_use", "id": "inner"}
    assert calls_of(AIMessage([{"type": "tool_use", "id": "own", "value": value}])) == ["own"]
    assert calls_of(AIMessage([{"type": "text", "text": "So.", "value": value}])) == []


def test_odd_wrapper() -> None:
    """A wrapper with nothing in it is a block of its own."""
    assert (
        calls_of(AIMessage([{"type": "non_standard"}, {"type": "non_standard", "value": 3}])) == []
    )


def test_without() -> None:
    """A copy without some answers keeps the rest, the id and the metadata."""
    one, two = ({"type": "tool_result", "tool_use_id": id_} for id_ in "ab")
    message = HumanMessage([one, two, TEXT], id="m", name="Ada", additional_kwargs={"k": 1})
    left = without(message, {0})
    assert left == HumanMessage([two, TEXT], id="m", name="Ada", additional_kwargs={"k": 1})
    assert message.content == [one, two, TEXT]
    assert without(HumanMessage([one, two]), {0, 1}) is None
    assert without(ToolMessage([TEXT], tool_call_id="a"), {0}) is None
    assert without(FunctionMessage(content="", name="look_up"), {0}) is None


def test_chat_message_of_a_user() -> None:
    """A `ChatMessage` of a user answers as a `HumanMessage` does, one of another role never."""
    call = AIMessage([{"type": "tool_use", "id": "a"}])
    block = {"type": "tool_result", "tool_use_id": "a"}
    for role, kept in (("user", 1), ("human", 1), ("critic", 2)):
        answer = ChatMessage(content=[block], role=role)
        history = [HumanMessage("One?"), call, HumanMessage("Two?"), answer]
        assert len(reduce_messages(history, max_messages=2)) == kept
