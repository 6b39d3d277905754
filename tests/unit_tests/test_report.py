"""`explain`: what was kept, what went and why."""

from typing import Any

import pytest
from hypothesis import given
from langchain_core.messages import BaseMessage

from langchain_mentor_reducer import MentorChatReducer, Reduction, reduce_messages
from tests.unit_tests.corners import (
    CORNERS,
    Corner,
    ask,
    blocks,
    call,
    letters_of,
    result,
    say,
    system,
    tool_result,
)
from tests.unit_tests.histories import any_history, budgets

LOOP = [ask("Why?"), call("a"), result("a"), call("b", "c"), result("b"), result("c"), say("So.")]


def explain(messages: list[BaseMessage], **options: Any) -> Reduction:
    """Explain a reduction."""
    return MentorChatReducer(**options).explain(messages)


def reasons(reduction: Reduction) -> list[str]:
    """List the reasons, message by message."""
    return [verdict.reason for verdict in reduction.verdicts]


@given(any_history(), budgets(tokens=letters_of, trim_to=True))
def test_agrees_with_the_list(history: list[BaseMessage], options: dict[str, Any]) -> None:
    """The account is of the very list that comes out, and its figures add up."""
    reduction = explain(history, **options)
    assert reduction.kept == reduce_messages(history, **options)
    assert [v.message for v in reduction.verdicts] == history
    whole = [v for v in reduction.verdicts if v.left is v.message]
    assert len(whole) + len(reduction.dropped) == len(history)
    assert reduction.before >= reduction.after
    assert sum(map(len, reduction.turns)) == reduction.before.messages
    assert len(reduction.turns) == reduction.before.turns
    assert str(reduction).startswith(f"Kept {reduction.after.messages} of")
    if reduction.after.messages and not reduction.overflowed:
        assert all(reduction.used[name] <= limit for name, limit in reduction.limits.items())


@pytest.mark.parametrize(
    "corner", [c for c in CORNERS if c.core and not c.raises], ids=lambda corner: corner.name
)
def test_every_drop_has_its_reason(corner: Corner) -> None:
    """What is kept has a reason to be kept, what is dropped one to be dropped."""
    kept = {"system message", "recent turn", "question of a cut turn", "most recent of a cut turn"}
    for verdict in explain(corner.messages, **corner.options).verdicts:
        assert (verdict.reason in kept) == (verdict.left is verdict.message)


def test_older_turn() -> None:
    """Whole turns that went are named older."""
    reduction = explain([system(), ask(), say(), ask(), say()], max_messages=3)
    assert reasons(reduction) == ["system message", *["older turn"] * 2, *["recent turn"] * 2]
    assert (reduction.before, reduction.after) == ((4, 2, None), (2, 1, None))
    assert not reduction.newest_turn_cut
    assert [verdict.turn for verdict in reduction.verdicts] == [0, 1, 1, 2, 2]


def test_cut_turn() -> None:
    """Of a newest turn over the budget each message says why it stayed or went."""
    reduction = explain([ask(), *LOOP], max_messages=4)
    assert reasons(reduction) == [
        "older turn",
        "question of a cut turn",
        *["over budget in the newest turn"] * 3,
        *["its call was cut"] * 2,
        "most recent of a cut turn",
    ]
    assert reduction.newest_turn_cut
    assert not reduction.overflowed


def test_cut_turn_without_a_question() -> None:
    """Without a question the newest messages are what is left of the turn."""
    reduction = explain([say("1"), say("2"), say("3")], max_messages=2)
    assert reasons(reduction)[0] == "over budget in the newest turn"
    assert reasons(reduction)[1:] == ["most recent of a cut turn"] * 2
    assert reduction.newest_turn_cut


def test_older_turn_held_in_part() -> None:
    """A fold may hold an older turn in part; it is no cut of the newest."""
    reduction = explain([*LOOP, ask(), say()], max_messages=6, trim_to=0.5)
    assert "over budget in the newest turn" in reasons(reduction)
    assert not reduction.newest_turn_cut


def test_part_of_a_message() -> None:
    """A message that lost some of its answers is among the dropped, and still kept."""
    text = {"type": "text", "text": "And?"}
    reduction = explain([ask(), call("a"), blocks(tool_result("a"), text)], max_messages=1)
    verdict = reduction.verdicts[2]
    assert verdict.reason == "its call was cut"
    assert verdict.left == blocks(text)
    assert verdict in reduction.dropped
    assert reduction.kept == [blocks(text)]


def test_overflow() -> None:
    """A newest step that does not fit is said, whatever is done about it."""
    for overflow, left in (("trim", 1), ("keep", 3)):
        reduction = explain([ask(), call("a"), result("a")], max_messages=2, overflow=overflow)
        assert reduction.overflowed
        assert reduction.newest_turn_cut == (overflow == "trim")
        assert reduction.used == {"max_messages": left}


def test_use_of_each_budget() -> None:
    """Each budget that is set shows its use, tokens with the system message."""
    history = [system("1234"), ask("123"), say("12"), ask("123"), say("1")]
    reduction = explain(
        history, max_messages=3, max_turns=9, max_tokens=99, token_counter=letters_of
    )
    assert reduction.limits == {"max_messages": 3, "max_turns": 9, "max_tokens": 99}
    assert reduction.used == {"max_messages": 2, "max_turns": 1, "max_tokens": 8}
    assert (reduction.before.tokens, reduction.after.tokens) == (13, 8)


def test_nothing() -> None:
    """An empty history has an account too."""
    reduction = explain([], max_messages=3)
    assert [reduction.kept, reduction.dropped, reduction.turns] == [[], [], []]
    assert str(reduction) == "Kept 0 of 0 messages, 0 of 0 turns (max_messages 0 of 3)."


def test_print_shows_the_turns() -> None:
    """`print` shows the turns at a glance, long runs of dropped ones as one line."""
    chat = [m for n in range(5) for m in (ask(f"Question {n}, which is a rather long one?"), say())]
    printed = str(explain([system(), *chat, ask(), *LOOP], max_messages=3))
    assert printed.splitlines() == [
        "Kept 2 of 18 messages, 1 of 7 turns (max_messages 2 of 3).",
        '  + "Be brief."  system message',
        "  - turns 1-6  11 messages  older turns",
        '  ~ turn 7  "Why?"  2 of 7 messages  over budget in the newest turn, its call was cut',
    ]


def test_print_shows_a_few_dropped_turns_one_by_one() -> None:
    """Three dropped turns are still shown, a single message counted as one."""
    long = ask("Question 0, which is a rather long one?")
    printed = str(explain([long, ask(), say(), ask()], max_messages=1))
    assert printed.splitlines()[1:] == [
        '  - turn 1  "Question 0, which is a rather long one?"  1 message  older turn',
        '  - turn 2  "And then?"  2 messages  older turn',
        '  + turn 3  "And then?"  1 message',
    ]


def test_print_tells_an_overflow() -> None:
    """`print` says that the newest step did not fit."""
    printed = str(explain([ask("x" * 99), call("a"), result("a")], max_messages=2))
    assert "The newest step does not fit beside its question." in printed
    assert f'"{"x" * 37}..."' in printed
