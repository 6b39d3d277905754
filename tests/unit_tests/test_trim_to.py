"""`trim_to`: a window whose start stays put, found without memory."""

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, Literal

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from langchain_mentor_reducer import MentorChatReducer, reduce_messages
from tests.unit_tests.corners import ask, call, letters, letters_of, result, say, system
from tests.unit_tests.histories import any_history, budgets, growing
from tests.unit_tests.reference import is_answer, is_system, newest_question

History = list[BaseMessage]
Options = dict[str, Any]
Grown = tuple[History, list[int]]

SHARES = st.sampled_from([0.6, 0.4, 0.8, 0.1, 0.99])
ALL_TOGETHER = st.fixed_dictionaries(
    {
        "max_messages": st.integers(1, 12),
        "max_turns": st.integers(1, 4),
        "max_tokens": st.integers(10, 150),
        "token_counter": st.just(letters_of),
    }
)
OPTIONS = st.one_of(budgets(tokens=letters_of), ALL_TOGETHER)


def same(ours: Sequence[BaseMessage], theirs: Sequence[BaseMessage]) -> bool:
    """Tell whether two windows hold the same objects."""
    return len(ours) == len(theirs) and all(a is b for a, b in zip(ours, theirs, strict=True))


def is_question(message: BaseMessage) -> bool:
    """Tell whether a message of `growing` starts a turn."""
    return newest_question([message]) is not None


def behind_system(window: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    """Return a window without the system message that leads it."""
    return window[1:] if window and is_system(window[0]) else window


def turns_of(window: Sequence[BaseMessage]) -> int:
    """Count the turns of a window, its preamble among them."""
    rest = behind_system(window)
    return sum(map(is_question, rest)) + (len(rest) > 0 and not is_question(rest[0]))


def fits(window: Sequence[BaseMessage], options: Options) -> bool:
    """Tell whether a window is within every budget that is set."""
    sizes = {
        "max_messages": len(behind_system(window)),
        "max_turns": turns_of(window),
        "max_tokens": letters(window),
    }
    return all(size <= options.get(limit, size) for limit, size in sizes.items())


def sent(grown: Grown, options: Options) -> list[tuple[History, History]]:
    """List what each call of a model is sent, each with what is new since the call before."""
    history, points = grown
    reducer = MentorChatReducer(**options)
    return [
        (history[before:point], reducer.reduce(history[:point]))
        for before, point in zip([0, *points], points, strict=False)
    ]


# --- What memory would hold ----------------------------------------------------------------------


@given(growing(), OPTIONS, SHARES, st.sampled_from(["trim", "keep"]))
def test_whole_history_equals_writing_back(
    grown: Grown, options: Options, share: float, overflow: Literal["trim", "keep"]
) -> None:
    """Reducing the whole history on every call equals writing the window back on every call."""
    reducer = MentorChatReducer(**options, trim_to=share, overflow=overflow)
    history, points = grown
    written: History = []
    cuts = 0
    for before, point in zip([0, *points], points, strict=False):
        state = [*written, *history[before:point]]
        written = reducer.reduce(state)
        cuts += len(written) < len(state)
        assert same(written, reducer.reduce(history[:point]))
    event(f"{min(cuts, 3)} cuts or more")


@given(growing(), OPTIONS, SHARES)
def test_prefix_stays_until_a_cut_is_forced(grown: Grown, options: Options, share: float) -> None:
    """What was sent is a prefix of what is sent next, for as long as all of it fits."""
    stayed = 0
    window: History = []
    for new, window_now in sent(grown, options | {"trim_to": share}):
        if fits([*window, *new], options):
            assert same(window_now, [*window, *new])
            stayed += 1
        window = window_now
    event("stayed" if stayed > 1 else "never stayed")


@given(growing(), OPTIONS, SHARES)
def test_never_over_the_full_budget(grown: Grown, options: Options, share: float) -> None:
    """Every window is within every budget in full, a question that alone is over it aside."""
    for _, window in sent(grown, options | {"trim_to": share}):
        rest = behind_system(window)
        assert fits(window, options) or not rest or (len(rest) == 1 and is_question(rest[0]))


@given(any_history(), OPTIONS, SHARES)
def test_never_over_the_full_budget_when_broken(
    history: History, options: Options, share: float
) -> None:
    """The same holds of histories that nobody should make."""
    window = reduce_messages(history, **options, trim_to=share)
    rest = behind_system(window)
    assert fits(window, options) or not rest or (len(rest) == 1 and is_question(rest[0]))


# --- How deep a cut goes -------------------------------------------------------------------------


@given(growing(), OPTIONS, SHARES)
def test_newest_turn_that_fits_stays_whole(grown: Grown, options: Options, share: float) -> None:
    """A newest turn that fits the budget in full is not cut, however small the share is."""
    window: History = []
    forced = False
    for new, window_now in sent(grown, options | {"trim_to": share}):
        held = [*window, *new]
        window = window_now
        asked = next((i for i in reversed(range(len(held))) if is_question(held[i])), None)
        head = held[:1] if is_system(held[0]) else []
        # A preamble is the newest turn of a history without a question.
        turn = held[len(head) :] if asked is None else held[asked:]
        if fits([*head, *turn], options):
            assert same(window_now[len(window_now) - len(turn) :], turn)
            forced |= len(window_now) < len(held)
    event("cut behind it" if forced else "nothing cut")


@given(growing(), OPTIONS, SHARES)
def test_newest_step_that_fits_stays_whole(grown: Grown, options: Options, share: float) -> None:
    """The newest step stays whole if it fits beside its question in full, whatever the share."""
    history, points = grown
    for point in points:
        prefix = history[:point]
        asked = max((i for i, m in enumerate(prefix) if is_question(m)), default=None)
        low = 0 if asked is None else asked
        begins = max(
            (i for i in range(low, point) if isinstance(prefix[i], AIMessage)), default=None
        )
        if begins is None:
            continue
        head = [message for message in prefix[:1] if is_system(message)]
        question = [] if asked is None else [prefix[asked]]
        if fits([*head, *question, *prefix[begins:]], options):
            window = reduce_messages(prefix, **options, trim_to=share)
            assert same(window[len(window) - (point - begins) :], prefix[begins:])


@given(growing(), OPTIONS, SHARES)
def test_older_turns_are_cut_to_the_share(grown: Grown, options: Options, share: float) -> None:
    """What a cut keeps beside the newest turn is within the scaled budgets."""
    scaled = {
        name: value if name == "token_counter" else max(1, int(value * share + 1e-9))
        for name, value in options.items()
    }
    window: History = []
    for new, window_now in sent(grown, options | {"trim_to": share}):
        cut = not same(window_now, [*window, *new])
        window = window_now
        # The last point at which the fold looked is the end if what came last is one message.
        if cut and len(new) == 1 and turns_of(window_now) > 1:
            assert fits(window_now, scaled)


@pytest.mark.parametrize(
    ("share", "sizes"),
    [
        (0.6, [1, 3, 5, 7, 9, 5, 7, 9, 5, 7, 9, 5]),
        (0.4, [1, 3, 5, 7, 9, 3, 5, 7, 9, 3, 5, 7]),
        (0.8, [1, 3, 5, 7, 9, 7, 9, 7, 9, 7, 9, 7]),
        (1, [1, 3, 5, 7, 9, 9, 9, 9, 9, 9, 9, 9]),
    ],
)
def test_window_grows_and_is_cut(share: float, sizes: list[int]) -> None:
    """The window grows to the budget, is cut to the share, and grows again."""
    history: History = []
    seen = []
    for turn in range(12):
        history.append(ask(f"question {turn}"))
        seen.append(len(reduce_messages(history, max_messages=10, trim_to=share)))
        history.append(say(f"answer {turn}"))
    assert seen == sizes


def test_share_that_is_no_exact_float() -> None:
    """A share of 0.58 of 50 messages is 29, though floats make it 28.999."""
    history: History = [ask(f"question {n}") for n in range(51)]
    assert len(reduce_messages(history, max_messages=50, trim_to=0.58)) == 29


# --- Turns that do not fit -----------------------------------------------------------------------


def loop(steps: int) -> History:
    """Ask once and look so many times."""
    history: History = [ask("How?!")]
    for step in range(steps):
        history += [call(f"c{step}"), result(f"c{step}", "Found")]
    return history


def test_long_turn_keeps_its_question_and_its_start() -> None:
    """In a loop that outgrows the budget, the question stays and the tail starts where it did."""
    history = [system(), *loop(12)]
    points = [n for n in range(2, len(history) + 1) if n % 2 == 0]
    starts = []
    for point in points:
        window = reduce_messages(history[:point], max_messages=9, trim_to=0.6)
        assert window[:2] == history[:2]
        starts.append(point - len(window) + 2)
    # Each cut leaves the question and two steps, and two more steps fit before the next.
    assert starts == [2] * 5 + [8] * 3 + [14] * 3 + [20] * 2


def test_overflow_speaks_of_the_end_alone(caplog: pytest.LogCaptureFixture) -> None:
    """A step that overflowed in the past neither warns nor raises; one at the end does."""
    step = [call("a", "b", "c"), *map(result, "abc")]
    past: History = [ask(), *step, say(), ask(), say()]
    options: Options = {"max_messages": 4, "trim_to": 0.6}
    # The older turn was cut while it was the newest, and is held in part.
    assert reduce_messages(past, **options, overflow="error") == [past[0], *past[-3:]]
    assert not caplog.records
    with pytest.raises(ValueError, match="newest step does not fit"):
        reduce_messages(past[:5], **options, overflow="error")
    assert reduce_messages(past[:5], **options) == past[:1]
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert reduce_messages(past[:5], **options, overflow="keep") == past[:5]


def test_late_answer_to_a_cut_call_is_not_taken_in() -> None:
    """An answer whose call the fold cut is removed, and takes no room."""
    late = result("late")
    history: History = [ask(), call("late"), ask(), say(), ask(), say(), late, ask()]
    window = reduce_messages(history, max_messages=4, trim_to=0.5)
    assert window == history[4:6] + history[7:]
    written = reduce_messages(history[:6], max_messages=4, trim_to=0.5)
    assert written == history[4:6]


@pytest.mark.parametrize("share", [0.4, 0.7])
def test_preamble_that_is_left_is_a_turn(share: float) -> None:
    """What a cut leaves of messages without a question counts as a turn when a question comes."""
    history: History = [*map(say, "abcd"), ask()]
    assert reduce_messages(history, max_messages=3, max_turns=1, trim_to=share) == history[4:]
    kept = reduce_messages(history, max_messages=3, max_turns=2, trim_to=share)
    assert kept == history[-len(kept) :]
    assert len(kept) == 1 + int(3 * share)


def test_model_answers_nothing() -> None:
    """A block of an answer in a message of the model stays, though its call was cut."""
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": "a", "content": "found"}
    history: History = [ask(), call("a"), ask(), say(), ask(), AIMessage([block])]
    assert reduce_messages(history, max_messages=4, trim_to=0.8) == history[2:]
    assert reduce_messages([*history, ask()], max_messages=4, trim_to=0.8) == [*history[4:], ask()]


# --- What it costs -------------------------------------------------------------------------------


def chat(turns: int) -> History:
    """Ask, look and answer so many times."""
    history: History = []
    for turn in range(turns):
        history += [ask(), call(f"c{turn}"), result(f"c{turn}"), say()]
    return history


@given(growing(), ALL_TOGETHER, SHARES)
def test_each_message_is_counted_once(grown: Grown, options: Options, share: float) -> None:
    """A counter is asked about each message once."""
    asked: Counter[int] = Counter()

    def count(message: BaseMessage) -> int:
        asked[id(message)] += 1
        return letters_of(message)

    history, _ = grown
    assume(history)
    reduce_messages(history, **options | {"token_counter": count, "trim_to": share})
    assert set(asked) == {id(message) for message in history}
    assert set(asked.values()) == {1}


def strays(turns: int) -> History:
    """Ask, and get an answer to a call that nobody made, so many times."""
    return [message for turn in range(turns) for message in (ask(), result(f"s{turn}"), say())]


def work(history: History, options: Options) -> int:
    """Count the functions that are called, in Python and in C, while a history is reduced."""
    calls = 0

    def note(_frame: FrameType, what: str, _arg: object) -> None:
        nonlocal calls
        calls += what in {"call", "c_call"}

    reducer = MentorChatReducer(**options)
    reducer.reduce(history[:8])
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        reducer.reduce(history)
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize("overflow", ["trim", "keep"])
@pytest.mark.parametrize("history", [chat, loop], ids=["many turns", "one long turn"])
@pytest.mark.parametrize(
    "options",
    [
        {"max_messages": 20},
        {"max_turns": 5},
        {"max_tokens": 100, "token_counter": letters_of},
        {"max_messages": 20, "max_turns": 5, "max_tokens": 100, "token_counter": letters_of},
    ],
    ids=["messages", "turns", "tokens", "all"],
)
def test_one_linear_pass(
    options: Options, history: Callable[[int], History], overflow: str
) -> None:
    """Twice the history is twice the work, counted in function calls."""
    options = options | {"trim_to": 0.6, "overflow": overflow}
    small, large = work(history(200), options), work(history(400), options)
    assert small > 50
    assert large < 2.2 * small


def test_answers_to_no_call_are_looked_up_in_one_pass() -> None:
    """A call that is nowhere is not looked for again in all of the history."""
    options: Options = {"max_messages": 20, "trim_to": 0.6}
    assert work(strays(400), options) < 2.2 * work(strays(200), options)


def test_questions_are_asked_about_in_one_pass() -> None:
    """`starts_turn` is asked a few times about each question, however long the history is."""
    asked: Counter[int] = Counter()

    def starts_turn(message: BaseMessage) -> bool:
        asked[id(message)] += 1
        return True

    reduce_messages(chat(400), max_messages=20, trim_to=0.6, starts_turn=starts_turn)
    assert sum(asked.values()) < 5 * 400


def test_answers_are_no_point_to_cut_at() -> None:
    """Between parallel results nothing is cut: no model is called there."""
    step = [call(*"abcdef"), *map(result, "abcdef")]
    history: History = [ask(), say(), HumanMessage("And?"), *step]
    for end in range(4, len(history) + 1):
        window = reduce_messages(history[:end], max_messages=8, trim_to=0.6, overflow="keep")
        assert is_answer(window[-1]) == (end > 4)
        assert window[-end + 2 :] == history[2:end]
