"""Mending: each row of the normal form, and what holds for any list of messages."""

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from langchain_mentor_reducer import mend_messages
from langchain_mentor_reducer.mend import NO_RESULT, mend
from tests.acceptance import shapes
from tests.unit_tests.histories import any_history, well_formed
from tests.unit_tests.reference import unanswered_calls, unpaired_answers

ROWS = [
    ("sound, results swapped", "U A>1,2 T<2 T<1 A", "U A>1,2 T<2 T<1 A"),
    ("a late result", "U A>1 U T<1", "U A>1 T<1 U"),
    ("a result before its call", "U T<1 A>1 A", "U A>1 T<1 A"),
    ("several results", "U A>1 T3<1 T5<1 A", "U A>1 T5<1 A"),
    ("a result of no call", "U A T<1 U", "U A U"),
    ("a call without a result", "U A>1 U", "U A>1 T!<1 U"),
    ("made again unanswered", "U A>1 U A>1 T<1", "U U A>1 T<1"),
    ("sent twice, answered once", "U A>1 T<1 U A>1 U", "U A>1 T<1 U U"),
    ("made again answered", "U A>1 T<1 U A>1 T<1", "U A>1 T<1 U A>1 T<1"),
    ("an empty answer", "U A>1 A0 T<1 A", "U A>1 T<1 A"),
    ("open in the last step", "U A>1,2 T<1", "U A>1,2 T<1"),
    ("a cut beginning", "S T<1 A U A", "S U A"),
    ("a greeting", "A U A", "A U A"),
    ("twice in a message", "U A>1,1 T<1 A", "U A>1 T<1 A"),
    ("no id", "U A> T< A", "U A"),
]


def _read(shape: str) -> list[BaseMessage]:
    return shapes.messages(shape.replace("T!", f"T{len(NO_RESULT)}"))


@pytest.mark.parametrize(("before", "after"), [row[1:] for row in ROWS], ids=[r[0] for r in ROWS])
def test_row(before: str, after: str) -> None:
    """What comes out is the normal form."""
    assert shapes.shape_of(mend_messages(_read(before))) == shapes.shape_of(_read(after))


def test_open_call_is_answered_where_a_model_is_called() -> None:
    """With `answer_last` the error answers an open call of the last step."""
    *_, error = mend_messages(_read("U A>1"), answer_last=True)
    assert isinstance(error, ToolMessage)
    assert (error.content, error.status, error.id) == (NO_RESULT, "error", None)


def test_account() -> None:
    """What was mended is named, with the message that it was about."""
    mended = mend(_read("U A>1 U"))
    assert mended is not None
    assert mended.sources == [0, 1, None, 2]
    assert mended.repairs == [(1, "a call that has no result")]


def test_removal_is_refused() -> None:
    """A `RemoveMessage` is no part of a history."""
    with pytest.raises(ValueError, match="add_messages"):
        mend_messages([RemoveMessage("m")])


def test_message_likes() -> None:
    """Tuples are converted."""
    assert mend_messages([("user", "Hi")]) == [HumanMessage("Hi")]


@given(well_formed())
def test_sound(history: list[BaseMessage]) -> None:
    """What is sound comes back as the very same objects."""
    assert all(a is b for a, b in zip(history, mend_messages(history), strict=True))


def _texts(history: Sequence[BaseMessage]) -> Counter[str]:
    kept = (m for m in history if type(m) in {HumanMessage, SystemMessage})
    return Counter(m.text for m in kept if m.text)


@given(any_history())
def test_any(history: list[BaseMessage]) -> None:
    """Everything is paired, nothing the user or the system said is lost, and twice is once."""
    before = [message.model_dump() for message in history]
    mended = mend_messages(history, answer_last=True)
    assert not unanswered_calls(mended)
    assert not unpaired_answers(mended)
    assert not [
        m
        for m in mended
        if type(m) is AIMessage
        and not m.content
        and not m.tool_calls
        and not m.invalid_tool_calls
        and not m.additional_kwargs
    ]
    assert mend_messages(mended, answer_last=True) == mended
    assert _texts(mended) == _texts(history)
    assert [message.model_dump() for message in history] == before
