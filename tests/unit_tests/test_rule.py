"""The rule: its promises and corners one by one, and what holds for every history."""

import copy
import gzip
import json
import operator
import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, event, given
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, convert_to_messages

from langchain_mentor_reducer import MentorChatReducer, reduce_messages
from langchain_mentor_reducer.budget import Budget
from langchain_mentor_reducer.rule import OverBudgetError, cut
from tests.unit_tests.corners import (
    CORNERS,
    LIST_COUNTERS,
    Corner,
    Unread,
    ask,
    blocks,
    call,
    letters,
    letters_of,
    result,
    say,
    system,
    tool_result,
)
from tests.unit_tests.histories import any_history, budgets, well_formed
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

DATA = Path(__file__).parents[3] / "shared" / "data"
"""Real conversations and reported bugs, where they stand beside the project."""

Options = dict[str, Any]
History = list[BaseMessage]


def first_reading(messages: Sequence[BaseMessage], options: Options) -> History:
    """Reduce by the package."""
    return reduce_messages(messages, **options)


def second_reading(messages: Sequence[BaseMessage], options: Options) -> History:
    """Reduce by the other reading of the rule."""
    counter = options.get("token_counter")
    others = {name: value for name, value in options.items() if name != "token_counter"}
    return reference(messages, count=LIST_COUNTERS[counter] if counter else None, **others)


def outcome(
    reduce: Callable[[History, Options], History], messages: History, options: Options
) -> History | None:
    """Return what comes out, or None where the newest step does not fit and may not be cut."""
    try:
        return reduce(messages, options)
    except ValueError:
        assert options["overflow"] == "error"
        return None


def saved(name: str) -> list[dict[str, Any]]:
    """Read a file of real data, or skip the test and say so."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{name} does not stand beside the project")
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    return [json.loads(line) for line in text.splitlines()]


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


TEXT = {"type": "text", "text": "And then?"}
CALLED_BEFORE = [ask(), call("a")]
COUNTED: dict[str, tuple[History, int, list[int]]] = {
    "a system message inside a turn is counted once": (
        [ask("a"), system("ss"), say("b")],
        4,
        [1, 0, 2],
    ),
    "a system message inside a turn is counted at all": (
        [ask("a"), system("ss"), say("bb")],
        4,
        [1, 0],
    ),
    "a system message inside a turn that is not the newest is counted once": (
        [ask("a" * 9), ask("a"), system("ss"), say("b"), ask("c")],
        5,
        [2, 1, 3, 4],
    ),
    "the end of a turn that is the budget, behind messages that cost nothing": (
        [ask("a" * 99), ask(""), ask(""), *[say("")] * 9, *[say("b")] * 64],
        64,
        [*range(1, 76)],
    ),
    "a system message inside the tail takes no room of the tail": (
        [ask("aa"), say("bbb"), say("c"), system("ssss"), say("dd")],
        11,
        [3, 0, 2, 4],
    ),
    "a stranded answer takes no room of the tail": (
        [ask("a"), call("a", text="bbb"), say("x"), result("a", "ccccc"), say("dd")],
        4,
        [0, 2, 4],
    ),
    "a question is not a part of its own tail": (
        [*CALLED_BEFORE, ask("a"), result("a", "ccccc"), say("d")],
        5,
        [2, 4],
    ),
}
"""Histories, a budget of tokens, and what is kept; a token is a letter or a block."""


@pytest.mark.parametrize("counter", [letters, letters_of], ids=["list", "one message"])
@pytest.mark.parametrize("name", COUNTED)
def test_what_is_counted(name: str, counter: Callable[..., int]) -> None:
    """Both readings count the tokens of a cut turn in the same way, whatever counts them."""
    history, most, keep = COUNTED[name]
    options = {"max_tokens": most, "token_counter": counter}
    assert first_reading(history, options) == [history[i] for i in keep]
    assert second_reading(history, options) == [history[i] for i in keep]


@pytest.mark.parametrize("counter", [letters, letters_of], ids=["list", "one message"])
def test_what_is_left_of_a_question_is_counted(counter: Callable[..., int]) -> None:
    """The text of a question that loses an answer takes its room, and the answer takes none."""
    history = [*CALLED_BEFORE, blocks(tool_result("a"), TEXT, TEXT), say("bb")]
    for most, kept in ((3, []), (4, [history[3]])):
        options = {"max_tokens": most, "token_counter": counter}
        assert first_reading(history, options) == [blocks(TEXT, TEXT), *kept]
        assert second_reading(history, options) == [blocks(TEXT, TEXT), *kept]


def test_end_of_a_long_turn_that_is_the_budget() -> None:
    """A long turn is not taken for one that fits because its end alone is all that fits."""
    history = [ask("a"), *[say("b")] * 100]
    for most in (63, 64, 65, 100):
        kept = reduce_messages(history, max_tokens=most, token_counter=letters)
        assert kept == [history[0], *history[-most + 1 :]]


def test_list_that_costs_more_than_its_parts() -> None:
    """A list counter is asked about lists, for what stands between messages may cost, too."""

    def joined(messages: Sequence[BaseMessage]) -> int:
        return letters(messages) + 3 * (len(messages) - 1)

    history = [ask("a"), say("bb"), say("cc"), say("dd")]
    assert reduce_messages(history, max_tokens=7, token_counter=joined) == [history[0], history[3]]
    assert reduce_messages(history, max_tokens=8, token_counter=joined) == [
        history[0],
        *history[2:],
    ]


def test_tokens_may_be_fractions() -> None:
    """A counter may return a float, as the approximate ones of other packages do."""

    def half(message: BaseMessage) -> float:
        return letters_of(message) / 2

    history: History = [ask("aa"), say("bb"), ask("cc"), say("ddd")]
    options: Options = {"token_counter": half}
    assert reduce_messages(history, max_tokens=2, **options) == history[2:3]
    assert reduce_messages(history, max_tokens=3, **options) == history[2:]


def test_system_message_over_the_budget_overflows_nothing() -> None:
    """With neither a question nor a step nothing overflows, not even the system message."""
    history = [system("sssss"), result("a", "bb")]
    options: Options = {"max_tokens": 3, "token_counter": letters, "overflow": "error"}
    assert reduce_messages(history, **options) == history[:1]


def test_overflow_is_told() -> None:
    """A cut says that the newest step did not fit, and else that nothing of the kind happened."""
    history = [ask(), call("a", "b"), result("a"), result("b")]
    assert [cut(history, Budget(most)).overflowed for most in (3, 4)] == [True, False]
    assert not cut([ask(), *history], Budget(4)).overflowed
    assert not cut([*history, say()], Budget(3)).overflowed


@pytest.mark.parametrize(
    ("limits", "over"),
    [
        ((2, None), "3 messages where 2 fit"),
        ((2, 1202), "3 messages where 2 fit"),
        ((3, 1000), "1,202 tokens where 1,000 fit"),
        ((2, 1000), "3 messages where 2 fit and 1,202 tokens where 1,000 fit"),
    ],
)
def test_error_names_what_does_not_fit(limits: tuple[int, int | None], over: str) -> None:
    """The error says in which budgets the newest step is over, by how much, and what to do."""
    reducer = MentorChatReducer(
        limits[0], max_tokens=limits[1], token_counter=letters, overflow="error"
    )
    with pytest.raises(OverBudgetError) as raised:
        reducer.reduce([ask("aa"), call("a"), result("a", "b" * 1200)])
    assert str(raised.value) == (
        f"The newest step does not fit beside its question: {over}. "
        'Raise the budget, or choose overflow="keep" or overflow="trim".'
    )


def test_promise_8_stateless() -> None:
    """One instance serves every thread: what it saw before changes nothing."""
    reducer = MentorChatReducer(2)
    one, other = [ask(), say(), ask(), say()], [ask(), call("a"), result("a"), say()]
    expected = [MentorChatReducer(2).invoke(history) for history in (one, other)]
    assert [reducer.invoke(history) for history in (one, other, one)] == [*expected, expected[0]]


@given(any_history(), budgets(tokens=letters, overflow=True))
def test_second_reading_agrees(history: History, options: Options) -> None:
    """A reading of the rule that was written apart from it keeps the same of any history."""
    ours = outcome(first_reading, history, options)
    assert ours == outcome(second_reading, history, options)
    event("refused" if ours is None else "cut" if len(ours) < len(history) else "whole")


@given(any_history(), budgets(tokens=letters_of, overflow=True, trim_to=True))
def test_second_reading_of_the_fold_agrees(history: History, options: Options) -> None:
    """The two readings agree on `trim_to`, counting message by message."""
    ours = outcome(first_reading, history, options)
    assert ours == outcome(second_reading, history, options)


@given(any_history(), budgets(tokens=letters_of, trim_to=True))
def test_any_history_comes_out_whole(history: History, options: Options) -> None:
    """The objects that went in come out, in order, none stranded, and the input is unchanged."""
    before = copy.deepcopy(history)
    reduced = reduce_messages(history, **options)
    assert history == before
    assert passes_through(history, reduced)
    assert strands_no_answer(history, reduced)
    assert opens_no_call(history, reduced)


@given(any_history(), budgets(tokens=letters_of, trim_to=True))
def test_any_history_comes_out_within_budget(history: History, options: Options) -> None:
    """Every budget holds, but for a question that alone is over the tokens."""
    reduced = reduce_messages(history, **options)
    counted = reduced[1:] if reduced and is_system(reduced[0]) else reduced
    assert len(counted) <= options.get("max_messages", len(counted))
    turns = 1 + sum(newest_question([message]) is not None for message in counted[1:])
    assert turns <= options.get("max_turns", turns)
    if len(counted) > 1:
        assert letters(reduced) <= options.get("max_tokens", letters(reduced))


@given(any_history(with_ids=True), budgets(tokens=letters_of, trim_to=True))
def test_newest_question_is_always_there(history: History, options: Options) -> None:
    """The newest question stands in every window."""
    question = newest_question(history)
    assume(question is not None)
    kept = newest_question(reduce_messages(history, **options))
    assert question is not None
    assert kept is not None
    assert kept.id == question.id


@given(any_history(), budgets(tokens=letters_of, trim_to=True, overflow=True))
def test_idempotent(history: History, options: Options) -> None:
    """What was reduced once comes through a second time as it is."""
    once = outcome(first_reading, history, options)
    assume(once is not None)
    assert once is not None
    twice = reduce_messages(once, **options)
    assert len(once) == len(twice)
    assert all(a is b for a, b in zip(once, twice, strict=True))


@given(well_formed(), budgets(tokens=letters_of, trim_to=True))
def test_well_formed_stays_well_formed(history: History, options: Options) -> None:
    """Of a well-formed history each result keeps its call and each call its result."""
    reduced = reduce_messages(history, **options)
    assert unpaired_answers(reduced) == []
    assert set(unanswered_calls(reduced)) <= set(unanswered_calls(history))


@pytest.mark.parametrize("trim_to", [1, 0.5])
@pytest.mark.parametrize(
    ("history", "kept"),
    [
        ([ask(), say(), result("a"), say()], [0, 1, 3]),
        ([result("a"), say(), ask()], [0, 1, 2]),
        ([ask(), say(), blocks(TEXT)], [0, 1, 2]),
    ],
    ids=["behind a question", "before any question", "no answer"],
)
def test_state_that_cuts_are_written_to(history: History, kept: list[int], trim_to: float) -> None:
    """There a call that is missing behind a question was cut before, and its answers go."""
    reducer = MentorChatReducer(9, trim_to=trim_to)
    assert reducer.decide(history, written=True)[1].of(history) == [history[i] for i in kept]
    assert reducer.decide(history)[1].of(history) == history


def test_cut_turn_in_a_state_that_cuts_are_written_to() -> None:
    """What is left of a cut turn loses such answers, too."""
    history = [ask(), result("a"), say(), say()]
    _, decision = MentorChatReducer(3).decide(history, written=True)
    assert decision.of(history) == [history[0], *history[2:]]


def test_question_in_a_state_that_cuts_are_written_to() -> None:
    """A question loses the answer whose call is missing, and asks the rest."""
    history = [ask(), say(), blocks(tool_result("a"), TEXT)]
    _, decision = MentorChatReducer(9).decide(history, written=True)
    assert decision.of(history) == [*history[:2], blocks(TEXT)]


def test_question_apart_in_a_state_that_cuts_are_written_to() -> None:
    """So does a question that is kept without what follows it, and nothing else is looked at."""
    history = [ask(), say(), blocks(tool_result("a"), TEXT), result("b"), say(), say()]
    _, decision = MentorChatReducer(2).decide(history, written=True)
    assert decision.stranded == {2: {0}}
    assert list(decision.indices(6)) == [2, 5]
    assert decision.of(history) == [blocks(TEXT), history[5]]


def test_cost_does_not_grow_with_what_is_dropped() -> None:
    """What lies before the window is not looked at, if a system message leads."""
    kept = [ask(), call("a"), result("a"), say()]
    history = [*[Unread.model_construct(content="unread")] * 1000, *kept]
    assert reduce_messages(history, max_messages=4) == kept


def test_reported_cases() -> None:
    """What public bug reports ask for comes out, wherever the rule covers them."""
    wrong = {}
    for case in saved("cases.jsonl"):
        if case["scope"] != "in":
            continue
        messages = convert_to_messages(case["minimal_input"])
        kept = reduce_messages(messages, max_messages=case["budget"])
        places = [next(i for i, m in enumerate(messages) if m is message) for message in kept]
        if places != case["keep"]:
            wrong[case["id"]] = places
    assert wrong == {}


def test_real_conversations() -> None:
    """No real conversation, cut where a model was called, comes out worse formed than it was."""
    dice = random.Random(2)
    cuts = 0
    for line in saved("trajectories.jsonl.gz"):
        messages = convert_to_messages(line["messages"])
        called = [i for i, m in enumerate(messages) if i and isinstance(m, AIMessage)]
        # Of a long conversation a few calls stand for all: they are much alike.
        for end in dice.sample(called, min(len(called), 8 if len(messages) < 50 else 2)):
            history = messages[:end]
            unpaired, unanswered = unpaired_answers(history), unanswered_calls(history)
            for budget in (1, 2, 3, 5, 10, 20, 50):
                reduced = reduce_messages(history, max_messages=budget)
                if len(reduced) == len(history):
                    assert all(map(operator.is_, reduced, history))
                    continue
                cuts += 1
                assert not Counter(unpaired_answers(reduced)) - Counter(unpaired)
                assert not Counter(unanswered_calls(reduced)) - Counter(unanswered)
                assert set(map(id, reduced)) < set(map(id, history))
    assert cuts > 10_000


def test_huge_turn_keeps_its_question() -> None:
    """The question of a turn of very many steps is found and kept."""
    steps = [m for n in range(5000) for m in (call(f"c{n}"), result(f"c{n}"))]
    history = [HumanMessage("before"), say(), ask(), *steps]
    assert reduce_messages(history, max_messages=5) == [history[2], *history[-4:]]
