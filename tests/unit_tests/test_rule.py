"""The rule: its promises and corners one by one, and what holds for every history."""

import copy
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from langchain_core.messages import BaseMessage, HumanMessage, convert_to_messages

from langchain_mentor_reducer import MentorChatReducer, reduce_messages
from tests.unit_tests.corners import CORNERS, LIST_COUNTERS, Corner, letters, letters_of
from tests.unit_tests.histories import any_history, budgets, growing, well_formed
from tests.unit_tests.reference import (
    is_system,
    newest_question,
    opens_no_call,
    passes_through,
    reference,
    strands_no_answer,
)

DATA = Path(__file__).parents[3] / "shared" / "data"

Options = dict[str, Any]


def second_reading(messages: Sequence[BaseMessage], options: Options) -> list[BaseMessage]:
    """Reduce by the other reading of the rule."""
    counter = options.get("token_counter")
    others = {name: value for name, value in options.items() if name != "token_counter"}
    return reference(messages, count=LIST_COUNTERS[counter] if counter else None, **others)


def outcome(reduce: Any, messages: Sequence[BaseMessage], options: Options) -> Any:
    """Return what comes out, or that nothing does."""
    try:
        return reduce(messages, options)
    except ValueError:
        return "refused"


def first_reading(messages: Sequence[BaseMessage], options: Options) -> list[BaseMessage]:
    """Reduce by the package."""
    return reduce_messages(messages, **options)


@pytest.mark.parametrize("corner", CORNERS, ids=lambda corner: corner.name)
def test_corner(corner: Corner) -> None:
    """Every promise and every corner comes out as the table says."""
    if corner.raises:
        with pytest.raises(corner.raises):
            reduce_messages(corner.messages, **corner.options)
        return
    before = convert_to_messages(corner.messages)
    reduced = reduce_messages(before if corner.core else corner.messages, **corner.options)
    assert len(reduced) == len(corner.keep)
    for message, position in zip(reduced, corner.keep, strict=True):
        if position in corner.changed:
            content = corner.changed[position]
            assert message == before[position].model_copy(update={"content": content})
        elif corner.core:
            assert message is before[position]
        else:
            assert message == before[position]


@given(any_history(), budgets(tokens=letters, overflow=True))
def test_second_reading_agrees(history: list[BaseMessage], options: Options) -> None:
    """A reading of the rule that was written apart from it keeps the same of any history."""
    ours = outcome(first_reading, history, options)
    assert ours == outcome(second_reading, history, options)
    event("refused" if ours == "refused" else "cut" if len(ours) < len(history) else "whole")


@given(any_history(), budgets(tokens=letters_of, overflow=True, trim_to=True))
def test_second_reading_of_the_fold_agrees(history: list[BaseMessage], options: Options) -> None:
    """The two readings agree on `trim_to`, counting message by message."""
    ours = outcome(first_reading, history, options)
    assert ours == outcome(second_reading, history, options)


@given(any_history(), budgets(tokens=letters_of, trim_to=True))
def test_promises(history: list[BaseMessage], options: Options) -> None:
    """Any history comes out within budget, in order, untouched and with no answer stranded."""
    before = copy.deepcopy(history)
    reduced = reduce_messages(history, **options)
    assert history == before
    assert passes_through(history, reduced)
    assert strands_no_answer(history, reduced)
    assert opens_no_call(history, reduced)
    counted = [message for message in reduced if not is_system(message)]
    if "max_messages" in options:
        others = sum(map(is_system, reduced[1:])) if reduced and is_system(reduced[0]) else 0
        assert len(counted) + others <= options["max_messages"]
    assert reduce_messages(reduced, **options) == reduced
