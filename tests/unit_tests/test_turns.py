"""Where a history may be cut: roles, questions, steps and the system message."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    ChatMessageChunk,
    FunctionMessage,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    SystemMessageChunk,
    ToolMessage,
    ToolMessageChunk,
)

from langchain_mentor_reducer.turns import (
    NotAMessageError,
    first_system,
    is_answer,
    is_question,
    is_system,
    questions,
    role_of,
    steps,
)
from tests.unit_tests.corners import ask, blocks, call, history, result, say, system, tool_result


class Odd(BaseMessage):
    """A message of a class of its own."""

    type: str = "odd"


@pytest.mark.parametrize(
    ("message", "role"),
    [
        (SystemMessage(""), "system"),
        (SystemMessageChunk(content=""), "system"),
        (ChatMessage(content="", role="system"), "system"),
        (ChatMessageChunk(content="", role="developer"), "system"),
        (HumanMessage(""), "user"),
        (HumanMessageChunk(content=""), "user"),
        (ChatMessage(content="", role="user"), "user"),
        (ChatMessage(content="", role="human"), "user"),
        (AIMessage(""), "ai"),
        (AIMessageChunk(content=""), "ai"),
        (ToolMessage("", tool_call_id=""), "result"),
        (ToolMessageChunk(content="", tool_call_id=""), "result"),
        (FunctionMessage(content="", name=""), "result"),
        (ChatMessage(content="", role="tool"), "other"),
        (ChatMessage(content="", role="assistant"), "other"),
        (Odd(content=""), "other"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_role(message: BaseMessage, role: str) -> None:
    """The class says what a message is, chunks and subclasses too, and a chat message its role."""
    assert role_of(message) == role
    assert is_system(message) == (role == "system")
    assert is_question(message) == (role == "user")
    assert is_answer(message) == (role == "result")

    made: Any = type("Own", (type(message),), {})
    own = made.model_construct(**dict(message))
    assert is_system(own) == (role == "system")
    assert role_of(own) == role


def test_role_of_another_class() -> None:
    """Only of a `ChatMessage` does a field named role say what it is."""

    class Labeled(HumanMessage):
        role: str = "system"

    assert not is_system(Labeled(content=""))
    assert role_of(Labeled(content="")) == "user"


def test_what_may_not_stand_in_a_history() -> None:
    """A removal and what is no message are refused, each in its way."""
    with pytest.raises(ValueError, match="RemoveMessage is an update of a state"):
        role_of(RemoveMessage(id="1"))
    wrong: Any = ("user", "Hi.")
    for asks in (role_of, is_system):
        with pytest.raises(NotAMessageError, match="got tuple"):
            asks(wrong)
    assert not is_system(RemoveMessage(id="1"))
    for message, refused in ((RemoveMessage(id="1"), ValueError), (wrong, NotAMessageError)):
        for search in (steps([message], 0, 1), questions([message], 0, 1, None)):
            with pytest.raises(refused):
                list(search)
    assert first_system([RemoveMessage(id="1"), system()]) == 1
    with pytest.raises(NotAMessageError):
        first_system([say(), wrong])


def test_answer_of_a_user() -> None:
    """A user message of answers alone answers, and starts no turn whatever a predicate says."""
    answer = blocks(tool_result("a"))
    assert is_answer(answer)
    assert not is_question(answer, lambda _: True)
    assert not is_answer(blocks(tool_result("a"), {"type": "text", "text": "And?"}))
    assert not is_answer(AIMessage([tool_result("a")]))


def test_predicate() -> None:
    """The predicate is asked about what would start a turn, and about nothing else."""
    asked: list[BaseMessage] = []

    def starts_turn(message: BaseMessage) -> bool:
        asked.append(message)
        return message.text != "nudge"

    history = [system(), ask("1"), say(), ask("nudge"), blocks(tool_result("a")), result("a")]
    assert list(questions(history, 0, 6, starts_turn)) == [1]
    assert asked == [history[3], history[1]]


@pytest.mark.parametrize("before", [0, 1, 63, 64, 65, 200, 5000])
def test_searches_go_back_over_any_distance(before: int) -> None:
    """The newest come first, however far they stand apart, and only those in the range."""
    gap: list[BaseMessage] = [result("a")] * before
    history = [ask(), *gap, say(), ask(), *gap, call("a"), *gap]
    second, end = before + 2, len(history)
    assert list(questions(history, 0, end, None)) == [second, 0]
    assert list(questions(history, 1, end, None)) == [second]
    assert list(questions(history, 1, second, None)) == []
    assert list(steps(history, 0, end)) == [second + before + 1, before + 1]
    assert list(steps(history, before + 2, second + before + 1)) == []


def looks(search: Callable[[], object]) -> int:
    """Count the functions of the package that are called in a search."""
    calls = 0

    def note(frame: FrameType, what: str, _arg: object) -> None:
        nonlocal calls
        calls += what == "call" and frame.f_globals["__name__"] == role_of.__module__

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        search()
    finally:
        sys.setprofile(before)
    return calls


def test_what_a_class_rules_out_is_not_looked_into() -> None:
    """A search looks into none of the messages whose class cannot be meant."""
    gap = [result("a")] * 2000
    spread = [*gap, ask(), *gap, say(), *gap]
    assert first_system(spread) is None  # the classes are known from here on
    assert looks(lambda: role_of(spread[0])) == 1
    assert looks(lambda: first_system(spread)) < 10
    assert looks(lambda: list(questions(spread, 0, 6002, None))) < 50
    assert looks(lambda: list(steps(spread, 0, 6002))) < 50


def test_class_met_for_the_first_time() -> None:
    """A class that was never met is looked at, not passed over nor taken for a step."""
    met = [type("Own", (kind,), {})(content="So.") for kind in (HumanMessage, AIMessage)]
    assert list(steps(met, 0, 2)) == [1]
    assert list(questions([*met, result("a")], 0, 3, None)) == [0]
    assert first_system([type("Own", (HumanMessage,), {})(content="So.")]) is None


@pytest.mark.parametrize(
    ("shape", "found"),
    {"": None, "U A": None, "S": 0, "U S S": 1, "U U@user S@developer": 2, "remove U S": 2}.items(),
)
def test_first_system(shape: str, found: int | None) -> None:
    """The first system message is found wherever it stands."""
    assert first_system(history(shape)) == found
