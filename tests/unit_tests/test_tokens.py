"""A budget of tokens: what counts them, in which form it is given, and how often it is asked."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import event, given
from langchain_core.messages import BaseMessage, RemoveMessage
from langchain_core.messages.utils import count_tokens_approximately
from pydantic import ValidationError

from langchain_mentor_reducer import MentorChatReducer, reduce_messages
from langchain_mentor_reducer.budget import Budget, meter
from langchain_mentor_reducer.rule import cut
from langchain_mentor_reducer.turns import NotAMessageError
from tests.unit_tests import counters
from tests.unit_tests.corners import ask, call, letters, letters_of, result, say, system
from tests.unit_tests.histories import any_history, budgets
from tests.unit_tests.reference import is_system, newest_question

History = list[BaseMessage]


def chat(turns: int) -> History:
    """Ask, look and answer so many times; every message but the calls is five letters long."""
    history: History = []
    for turn in range(turns):
        history += [ask("How?!"), call(f"c{turn}"), result(f"c{turn}", "Found"), say("So...")]
    return history


def loop(steps: int) -> History:
    """Ask once and look so many times; every message but the calls is five letters long."""
    history: History = [ask("How?!")]
    for step in range(steps):
        history += [call(f"c{step}"), result(f"c{step}", "Found")]
    return history


# --- What counts ---------------------------------------------------------------------------------


FORMS = [(form, True) for form in counters.ONE] + [(form, False) for form in counters.LIST]


@pytest.mark.parametrize(("form", "one_by_one"), FORMS)
def test_form_of_a_counter(form: str, *, one_by_one: bool) -> None:
    """One message is counted where an annotation says so; all else, a model too, counts a list."""
    counter = (counters.ONE if one_by_one else counters.LIST)[form]
    assert meter(counter).one_by_one == one_by_one
    history = chat(9)
    assert reduce_messages(history, max_tokens=44, token_counter=counter) == history[-8:]


def test_forms_without_string_annotations() -> None:
    """Annotations that are no strings are read the same way; a builtin counts a list."""
    assert meter(letters_of).one_by_one
    of_a_list: list[Any] = [letters, len, min, lambda: 0]
    assert not any(meter(counter).one_by_one for counter in of_a_list)
    history = chat(9)
    assert reduce_messages(history, max_tokens=10, token_counter=len) == history[-8:]


def test_approximate_is_what_langchain_counts() -> None:
    """`"approximate"`, the default, counts as `count_tokens_approximately` does."""
    history = chat(9)
    two_turns = count_tokens_approximately(history[-8:])
    assert reduce_messages(history, max_tokens=two_turns) == history[-8:]
    assert reduce_messages(history, max_tokens=two_turns - 1) == history[-4:]
    same = reduce_messages(history, max_tokens=two_turns, token_counter=count_tokens_approximately)
    assert same == history[-8:]


@pytest.mark.parametrize("size", [16, 20, 40, 80])
def test_approximate_counts_many_together(size: int) -> None:
    """What is counted in heaps of messages comes out as if it were counted one by one."""
    history = chat(20)
    most = count_tokens_approximately(history[-size:])
    assert reduce_messages(history, max_tokens=most) == history[-size:]
    assert reduce_messages(history, max_tokens=most - 1) == history[4 - size :]


@pytest.mark.parametrize("counter", [42, None, "exact", ["approximate"]])
def test_what_cannot_count_is_refused(counter: Any) -> None:
    """What is no counter is refused when the reducer is built, by an error that shows it."""
    with pytest.raises(ValidationError, match="token_counter must be 'approximate'") as refusal:
        MentorChatReducer(max_tokens=10, token_counter=counter)
    assert repr(counter) in str(refusal.value)


# --- A counter that fails ------------------------------------------------------------------------


def failing(messages: list[BaseMessage]) -> int:
    """Fail, as a tokenizer without its vocabulary does."""
    msg = f"no vocabulary for {len(messages)} messages"
    raise RuntimeError(msg)


def test_counter_that_raises_is_named() -> None:
    """An exception of the counter becomes an error that names it, with the exception as cause."""
    with pytest.raises(ValueError, match=r"failing raised RuntimeError: no vocabulary") as failure:
        reduce_messages(chat(2), max_tokens=10, token_counter=failing)
    assert isinstance(failure.value.__cause__, RuntimeError)


@pytest.mark.parametrize("tokens", [None, "12", True, float("nan"), -1, [12], 12j])
def test_counter_without_a_number_is_named(tokens: Any) -> None:
    """A counter that returns no number of tokens is an error that names it and shows what came."""

    def odd(_: list[BaseMessage]) -> Any:
        return tokens

    def odd_one(_: BaseMessage) -> Any:
        return tokens

    for counter in (odd, odd_one):
        with pytest.raises(ValueError, match=f"{counter.__name__} must return a number") as failure:
            reduce_messages(chat(2), max_tokens=10, token_counter=counter)
        assert repr(tokens) in str(failure.value)


@pytest.mark.parametrize(
    ("counter", "name"),
    [
        (counters.LIST["model"], "CountingModel"),
        (counters.CallsList(), "CallsList"),
        (counters.LIST["lambda"], "<lambda>"),
        (counters.Tokenizer().listed, "listed"),
        (counters.LIST["partial"], "listed_as_sequence"),
    ],
)
def test_every_counter_has_a_name(counter: Any, name: str) -> None:
    """What an error calls a counter is short and says which it is."""
    assert meter(counter).name == name


def test_counter_is_asked_for_tokens_alone() -> None:
    """Without a budget of tokens nothing is counted."""
    reducer = MentorChatReducer(4, token_counter=failing)
    assert reducer.reduce(chat(3)) == chat(3)[-4:]


# --- The budget ----------------------------------------------------------------------------------


def test_system_message_is_counted() -> None:
    """Unlike messages, tokens cover all that is returned, the system message too."""
    history = [system("Brief"), *chat(9)]
    for tokens, newest in ((35, 8), (34, 4)):
        kept = reduce_messages(history, max_tokens=tokens, token_counter=letters_of)
        assert kept == [history[0], *history[-newest:]]
    assert letters([history[0], *history[-8:]]) == 35


@given(any_history(), budgets(tokens=letters_of, overflow=True))
def test_every_budget_holds(history: History, options: dict[str, Any]) -> None:
    """What comes out is within messages, turns and tokens at once."""
    window = reduce_messages(history, **options | {"overflow": "trim"})
    rest = window[1:] if window and is_system(window[0]) else window
    assert len(rest) <= options.get("max_messages", len(rest))
    turns = sum(newest_question([message]) is not None for message in rest)
    preamble = bool(rest) and newest_question(rest[:1]) is None
    assert turns + preamble <= options.get("max_turns", turns + preamble)
    # A question is kept even if it alone is over, and so is the system message.
    if len(rest) > 1 or (rest and preamble):
        assert letters(window) <= options.get("max_tokens", letters(window))
    event(f"{len(options) - 1 - ('max_tokens' in options)} budgets")


# --- How often a counter is asked ----------------------------------------------------------------


def shown(history: History, *, one_by_one: bool, **options: Any) -> Counter[str]:
    """Count the messages and the calls that a counter sees while `history` is reduced."""
    seen: Counter[str] = Counter()

    def counts_list(messages: list[BaseMessage]) -> int:
        seen.update(calls=1, messages=len(messages))
        return letters(messages)

    def counts_one(message: BaseMessage) -> int:
        return counts_list([message])

    counter: Callable[..., int] = counts_one if one_by_one else counts_list
    reduce_messages(history, token_counter=counter, **options)
    return seen


one_or_list = pytest.mark.parametrize("one_by_one", [True, False], ids=["one message", "list"])


@one_or_list
@pytest.mark.parametrize("head", [[], [system("Brief")]], ids=["no system", "system"])
@pytest.mark.parametrize("history", [chat, loop], ids=["many turns", "one long turn"])
@pytest.mark.parametrize("max_messages", [None, 40])
def test_counting_does_not_depend_on_what_is_dropped(
    history: Callable[[int], History], head: History, max_messages: int | None, *, one_by_one: bool
) -> None:
    """A counter is shown the same, whether a hundred messages are dropped or ten thousand."""
    options: dict[str, Any] = {"max_tokens": 150, "max_messages": max_messages}
    small, large = head + history(100), head + history(5_000)
    seen = shown(small, one_by_one=one_by_one, **options)
    assert seen == shown(large, one_by_one=one_by_one, **options)
    kept = reduce_messages(small, token_counter=letters_of, **options)
    most = 2 * len(kept) + 8 if one_by_one else 16 * len(kept) + 200
    assert seen["messages"] <= most


@one_or_list
def test_long_turn_behind_a_short_one(*, one_by_one: bool) -> None:
    """The turn that stops the walk is not counted to its start, however long it is."""
    small, large = loop(100) + chat(3), loop(5_000) + chat(3)
    assert reduce_messages(small, max_tokens=60, token_counter=letters) == small[-12:]
    seen, again = (shown(each, max_tokens=60, one_by_one=one_by_one) for each in (small, large))
    assert seen == again


def test_long_turn_that_fits_is_felt_for() -> None:
    """A list counter is shown the ends of a long turn, and in the end all of it."""
    shown: list[int] = []

    def count(messages: list[BaseMessage]) -> int:
        shown.append(len(messages))
        return len(messages)

    history = [ask(), *(say() for _ in range(199))]
    assert reduce_messages(history, max_tokens=200, token_counter=count) == history
    assert shown == [64, 128, 200]


def test_counter_of_one_message_sees_each_once() -> None:
    """What counts message by message is asked about each message once at most."""
    for history in (chat(50), loop(100), loop(100) + chat(3), chat(3) + loop(100)):
        asked: Counter[int] = Counter()

        def count(message: BaseMessage, asked: Counter[int] = asked) -> int:
            asked[id(message)] += 1
            return letters_of(message)

        reduce_messages(history, max_tokens=150, token_counter=count)
        assert set(asked.values()) == {1}


@pytest.mark.parametrize("counter", [letters, letters_of], ids=["list", "one message"])
def test_what_is_no_message_is_not_counted(counter: Callable[..., int]) -> None:
    """What is no message, or none of a history, is refused before a counter sees it."""
    wrong: Any = ("user", "Hi.")
    meant = Budget(tokens=9, meter=meter(counter))
    with pytest.raises(NotAMessageError):
        cut([system(), ask(), wrong], meant)
    with pytest.raises(ValueError, match="RemoveMessage is an update"):
        cut([ask(), RemoveMessage(id="1")], meant)


# --- Forms that the rule refuses -----------------------------------------------------------------


@pytest.mark.parametrize("form", counters.LIST)
def test_trim_to_refuses_counters_of_lists(form: str) -> None:
    """`trim_to` with `max_tokens` asks for a counter of one message, when the reducer is built."""
    counter = counters.LIST[form]
    with pytest.raises(ValidationError, match="counts message by message") as refusal:
        MentorChatReducer(max_tokens=100, trim_to=0.6, token_counter=counter)
    assert meter(counter).name in str(refusal.value)
    assert MentorChatReducer(max_tokens=100, trim_to=1, token_counter=counter).trim_to == 1
    assert MentorChatReducer(10, trim_to=0.6, token_counter=counter).trim_to == 0.6


@pytest.mark.parametrize("counter", ["approximate", *counters.ONE.values()])
def test_trim_to_takes_counters_of_one_message(counter: Any) -> None:
    """`trim_to` with `max_tokens` takes `"approximate"` and any counter of one message."""
    reducer = MentorChatReducer(max_tokens=1_000, trim_to=0.6, token_counter=counter)
    history: History = [ask("One?"), say("1")]
    assert reducer.reduce(history) == history
