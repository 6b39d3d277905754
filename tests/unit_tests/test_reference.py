"""The second reading of the rule, checked by hand: against the corners, real reports and itself."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, convert_to_messages

from tests.unit_tests.corners import (
    CORNERS,
    LIST_COUNTERS,
    Corner,
    ask,
    blocks,
    call,
    letters,
    letters_of,
    result,
    say,
    tool_result,
)
from tests.unit_tests.histories import any_history, budgets, growing, well_formed
from tests.unit_tests.reference import (
    is_system,
    newest_question,
    opens_no_call,
    passes_through,
    reference,
    strands_no_answer,
    unanswered_calls,
    unpaired_answers,
)

CASES = Path(__file__).parents[3] / "shared" / "data" / "cases.jsonl"


def _reduce(messages: Sequence[BaseMessage], options: dict[str, Any]) -> list[BaseMessage]:
    """Call the reference with options by the names of the package."""
    options = dict(options)
    counter = options.pop("token_counter", None)
    return reference(messages, count=LIST_COUNTERS[counter] if counter else None, **options)


@pytest.mark.parametrize("corner", CORNERS, ids=lambda corner: corner.name)
def test_corner(corner: Corner) -> None:
    """Every promise and every corner comes out as the table says."""
    if corner.raises:
        with pytest.raises(corner.raises):
            _reduce(corner.messages, corner.options)
        return
    before = convert_to_messages(corner.messages)
    reduced = _reduce(before if corner.core else corner.messages, corner.options)
    assert len(reduced) == len(corner.keep)
    for message, position in zip(reduced, corner.keep, strict=True):
        if position in corner.changed:
            expected = before[position].model_copy(update={"content": corner.changed[position]})
            assert message == expected
            assert message is not before[position]
        elif corner.core:
            assert message is before[position]
        else:
            assert message == before[position]


def test_corner_names_are_unique() -> None:
    """No two corners share a name, so a report names one."""
    names = [corner.name for corner in CORNERS]
    assert len(names) == len(set(names))


def test_reported_cases() -> None:
    """What public bug reports ask for comes out, wherever the rule covers them."""
    if not CASES.exists():
        pytest.skip(f"the reported cases are not beside the project: {CASES.name}")
    cases = [json.loads(line) for line in CASES.read_text().splitlines()]
    wrong: dict[str, list[int]] = {}
    for case in cases:
        if case["scope"] != "in":
            continue
        messages = convert_to_messages(case["minimal_input"])
        kept = reference(messages, max_messages=case["budget"])
        places = [next(i for i, m in enumerate(messages) if m is message) for message in kept]
        if places != case["keep"]:
            wrong[case["id"]] = places
    assert wrong == {}


def test_reported_gap_late_approval() -> None:
    """An approval in a later turn than its request never stays without it."""
    request = AIMessage([{"type": "mcp_approval_request", "id": "p"}])
    response = blocks({"type": "mcp_approval_response", "approval_request_id": "p"})
    history = [ask(), request, ask(), say(), ask(), say(), response]
    assert reference(history, max_messages=4) == [history[4], history[5]]
    assert reference(history, max_messages=7) == history


@given(any_history(), budgets(tokens=letters, trim_to=True))
def test_breaks_nothing(before: list[BaseMessage], options: dict[str, Any]) -> None:
    """Any history comes out in order, with no answer newly stranded and no call newly open."""
    copy = list(before)
    after = _reduce(before, options)
    assert all(now is then for now, then in zip(before, copy, strict=True))
    assert passes_through(before, after)
    assert strands_no_answer(before, after)
    assert opens_no_call(before, after)


@given(any_history(with_ids=True), budgets(tokens=letters, trim_to=True))
def test_keeps_the_newest_question(before: list[BaseMessage], options: dict[str, Any]) -> None:
    """The newest question stands in every window."""
    question = newest_question(before)
    assume(question is not None)
    after = newest_question(_reduce(before, options))
    assert question is not None
    assert after is not None
    assert after.id == question.id


@given(any_history(), budgets(tokens=letters, trim_to=True))
def test_stays_within_the_budgets(before: list[BaseMessage], options: dict[str, Any]) -> None:
    """Every budget holds, a question that alone is over the tokens aside."""
    after = _reduce(before, options)
    rest = after[1:] if after and is_system(after[0]) else after
    assert len(rest) <= options.get("max_messages", len(rest))
    turns = 1 + sum(newest_question([message]) is not None for message in rest[1:])
    assert turns <= options.get("max_turns", turns)
    alone = len(rest) == 1 and newest_question(rest) is rest[0]
    if rest and not alone:
        assert letters(after) <= options.get("max_tokens", letters(after))


@given(any_history(), budgets(tokens=letters, trim_to=True, overflow=True))
def test_is_idempotent(before: list[BaseMessage], options: dict[str, Any]) -> None:
    """A window reduced again is the same window."""
    try:
        once = _reduce(before, options)
    except ValueError:
        event("overflows")
        assert options["overflow"] == "error"
        return
    twice = _reduce(once, options | {"overflow": options["overflow"].replace("error", "trim")})
    assert all(a is b for a, b in zip(once, twice, strict=True))


@given(well_formed(), budgets(tokens=letters, trim_to=True))
def test_leaves_well_formed(before: list[BaseMessage], options: dict[str, Any]) -> None:
    """A well-formed history stays one: each answer has a call, each call but the last an answer."""
    after = _reduce(before, options)
    assert unpaired_answers(after) == []
    assert set(unanswered_calls(after)) <= set(unanswered_calls(before))
    assert all(any(now is then for then in before) for now in after)


@given(
    growing(),
    budgets(tokens=letters_of),
    st.sampled_from([0.6, 0.4, 0.8, 0.1]),
    st.sampled_from(["trim", "keep"]),
)
def test_folds_as_memory_does(
    grown: tuple[list[BaseMessage], list[int]],
    options: dict[str, Any],
    share: float,
    overflow: str,
) -> None:
    """Reducing the whole history at each call gives what writing the window back gives."""
    messages, points = grown
    options = options | {"trim_to": share, "overflow": overflow}
    window: list[BaseMessage] = []
    taken = 0
    for point in points:
        window = _reduce([*window, *messages[taken:point]], options)
        taken = point
        whole = _reduce(messages[:point], options)
        assert len(window) == len(whole)
        assert all(a is b for a, b in zip(window, whole, strict=True))


class TestCheckers:
    """The checkers refuse what they should: one that cannot fail proves nothing."""

    def test_stranded_answer(self) -> None:
        """A result whose call is missing is newly stranded."""
        history = [ask(), call("a"), result("a"), say()]
        assert unpaired_answers(history) == []
        assert not strands_no_answer(history, [history[0], *history[2:]])

    def test_stranded_block(self) -> None:
        """A single block whose call is missing is newly stranded."""
        both = blocks(tool_result("a"), tool_result("b"))
        history = [ask(), call("a"), call("b"), both, say()]
        assert unpaired_answers(history) == []
        assert not strands_no_answer(history, [history[0], *history[2:]])

    def test_stranded_by_position(self) -> None:
        """A later call with the same id does not pair a stranded result."""
        history = [ask(), call("x"), result("x", "one"), call("x"), result("x", "two")]
        assert not strands_no_answer(history, [history[0], *history[2:]])

    def test_open_call(self) -> None:
        """A call whose result is missing is newly open."""
        history = [ask(), call("a"), result("a"), say()]
        assert not opens_no_call(history, history[:2])
        assert opens_no_call(history[:2], history[:2])

    def test_other_objects(self) -> None:
        """Equal copies, another order and a message twice do not pass through."""
        history: list[BaseMessage] = [HumanMessage("one"), HumanMessage("two")]
        assert passes_through(history, history[1:])
        assert not passes_through(history, [HumanMessage("one")])
        assert not passes_through(history, history[::-1])
        assert not passes_through(history, [history[0], history[0]])

    def test_copies(self) -> None:
        """A copy may lack answer blocks, and nothing else."""
        text = {"type": "text", "text": "And?"}
        message = blocks(tool_result("a"), text)
        assert passes_through([message], [blocks(text)])
        assert not passes_through([message], [blocks(tool_result("a"))])
        assert not passes_through([message], [blocks(tool_result("a"), text)])
        assert not passes_through([message], [blocks(text).model_copy(update={"id": "new"})])
