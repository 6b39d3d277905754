"""The benchmarks run, at tiny sizes, and print what they measured. No test asserts a time."""

import time
import warnings
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from langchain_mentor_reducer import reduce_messages
from tests import tables
from tests.acceptance import corpus
from tests.benchmarks import cache, rivals, side_by_side, speed
from tests.benchmarks.clock import Call, Timing, measure, ratio, written
from tests.benchmarks.histories import ONE_TURN, PARALLEL_CALLS, SHAPES, TEXT, Shape, history
from tests.benchmarks.rivals import Rival
from tests.benchmarks.side_by_side import Cell
from tests.unit_tests.reference import unanswered_calls, unpaired_answers

pytestmark = pytest.mark.filterwarnings(
    # langmem, where it is installed, is built on names that LangGraph has deprecated.
    "ignore::DeprecationWarning:langmem"
)


# --- histories -----------------------------------------------------------------------------------


@pytest.mark.parametrize("system", [True, False])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
@pytest.mark.parametrize("length", [50, 200])
def test_histories_are_well_formed(shape: Shape, length: int, *, system: bool) -> None:
    """A history to measure on is one that a model would be called with, of about its length."""
    messages = history(shape, length, system=system)
    assert length - 20 < len(messages) <= length
    assert isinstance(messages[0], SystemMessage) == system
    assert not isinstance(messages[-1], AIMessage)
    assert unpaired_answers(messages) == []
    assert unanswered_calls(messages) == []
    assert len({message.id for message in messages}) == len(messages)
    asked = sum(isinstance(message, HumanMessage) for message in messages)
    assert (asked == 1) == (shape is ONE_TURN)


# --- the clock -----------------------------------------------------------------------------------


def test_clock_stops_what_takes_too_long() -> None:
    """A contender over the limit has no time; the others are measured, and all are called."""
    called: Counter[str] = Counter()
    takes = {"quick": 0.0, "slow": 0.002, "endless": 60.0}

    def contender(name: str) -> None:
        called[name] += 1
        time.sleep(takes[name])

    contenders = {name: partial(contender, name) for name in takes}
    times = measure(contenders, seconds=0.01, limit=0.1, unlimited={"slow"})
    assert list(times) == list(contenders)
    assert times["endless"] is None
    assert called["endless"] == 1
    for name in ("quick", "slow"):
        timing = times[name]
        assert timing is not None
        assert 0 < timing.least <= timing.median
        assert called[name] > 4


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2.5e-7, "0.25 µs"), (1.26e-5, "12.6 µs"), (0.0042, "4.20 ms"), (1234, "1,234 s")],
)
def test_times_are_written_with_their_unit(seconds: float, text: str) -> None:
    """A time is written in the unit that suits it."""
    assert written(seconds) == text


def test_ratios_are_written_to_three_digits() -> None:
    """A ratio keeps the digits that mean something."""
    assert [*map(ratio, (0.0123, 0.5, 12.34, 1234.5))] == ["1/81", "0.50x", "12.3x", "1,234x"]


# --- beside trim_messages ------------------------------------------------------------------------


def test_speed_measures_every_case() -> None:
    """Every case has a row for each length, and each row every time."""
    rows = list(speed.rows((60, 120), seconds=0.001))
    assert [row.case for row in rows] == [case for case in speed.CASES for _ in range(2)]
    for row in rows:
        assert set(row.times) == {*speed.SHOWN, speed.INVOKE, speed.TRIM_INVOKE}
        assert 50 < row.length <= 120
    text = speed.markdown(rows)
    for case in speed.CASES:
        assert case in text
    assert text.count("\n| ") == len(speed.CASES) * (2 + 2)
    assert "trim_messages().invoke" in speed.invoke_markdown(rows)


def test_bare_walk_keeps_what_the_rule_keeps() -> None:
    """The loop that sets the pace looks over the window that is kept."""
    messages = history(TEXT, 200, system=False)
    assert speed.bare_walk(messages, 50) == reduce_messages(messages, max_messages=50)


# --- side by side --------------------------------------------------------------------------------


@pytest.mark.parametrize("rival", rivals.OURS, ids=lambda rival: f"{rival.name} {rival.counts}")
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_ours_keeps_about_the_window(rival: Rival, shape: Shape) -> None:
    """This package cuts each history that it is timed on, and keeps something of the window."""
    messages = history(shape, 400)
    size = rivals.window(messages, 50)
    kept = rival.prepare(messages, size)()
    assert isinstance(kept, list)
    assert kept[0] is messages[0]
    if (rival.counts, shape) != ("turns", ONE_TURN):
        assert 10 < len(kept) <= 51


def test_every_rival_runs() -> None:
    """What is installed runs on every shape; what is not is named."""
    present = rivals.present()
    assert present[0].name == "**this package**"
    assert {rival.package for rival in present}.isdisjoint(rivals.missing())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for shape in SHAPES:
            messages = history(shape, 60)
            before = list(messages)
            for rival in present:
                rival.prepare(messages, rivals.window(messages, 20))()
                assert messages == before


def test_missing_rivals_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that is not installed is left out, and the tables say so."""
    theirs = [Rival("gone", "messages", "no-such-package", rivals.OURS[0].prepare)]
    monkeypatch.setattr(rivals, "THEIRS", theirs)
    assert rivals.missing() == ["no-such-package"]
    assert len(rivals.present()) == len(rivals.OURS)
    measured = list(side_by_side.cells((60,), (20,), shapes=(TEXT,), seconds=0.001))
    text = side_by_side.markdown(measured, 2)
    assert "Not installed, and so not measured: no-such-package." in text
    assert "None is quicker anywhere." in text


def test_side_by_side_measures_every_rival(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each rival has a cell for each history, and a slow one is not asked again."""
    asked: list[int] = []

    def prepare(messages: list[BaseMessage], _: rivals.Window) -> Call:
        asked.append(len(messages))
        return partial(time.sleep, 60)

    monkeypatch.setattr(rivals, "THEIRS", [Rival("slow", "turns", "langchain-core", prepare)])
    quick: Any = {"seconds": 0.001, "limit": 0.05}
    measured = list(side_by_side.cells((60, 120), (20,), shapes=(PARALLEL_CALLS,), **quick))
    assert len(measured) == 2 * len(rivals.present())
    slow = [cell for cell in measured if cell.key[1] == "slow"]
    assert [cell.time for cell in slow] == [None, None]
    assert len(asked) == 1
    text = side_by_side.full_markdown(measured, 0.05)
    assert "| turns | slow | over 50.0 ms | over 50.0 ms |" in text


def test_winners_are_named() -> None:
    """Where another is quicker, the table says where and by how much."""
    ours, theirs = ("turns", "**this package**"), ("turns", "theirs")
    times = [(100, ours, 4e-5), (100, theirs, 1e-5), (1_000, ours, 4e-5), (1_000, theirs, 8e-5)]
    measured = [Cell("text", 50, length, key, Timing(s, s)) for length, key, s in times]
    assert [(cell.length, times) for cell, times in side_by_side.wins(measured)] == [(100, 0.25)]
    text = side_by_side.markdown(measured, 2)
    verdict = "turns: theirs: in 1 of 2, at best 4.00x as quick (100 messages, window 50, text)"
    assert verdict in text
    assert "| turns | theirs | 10.0 µs (0.25x) | 80.0 µs (2.00x) | 0.25x |" in text


# --- the prompt cache ----------------------------------------------------------------------------


def _conversation(turns: int) -> list[BaseMessage]:
    """Make a conversation in which each message is one token by the counter below."""
    messages: list[BaseMessage] = [SystemMessage("", id="s")]
    for turn in range(turns):
        messages += [HumanMessage("", id=f"q{turn}"), AIMessage("", id=f"a{turn}")]
    return messages


def test_replay_counts_the_common_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is cached of a call is what it has in common with the call before, from the start."""
    monkeypatch.setattr(cache, "count_tokens_approximately", len)
    conversation = _conversation(3)
    assert cache.called_at(conversation) == [2, 4, 6]
    whole = cache.replay([conversation], lambda messages: messages)
    assert (whole.calls, whole.tokens, whole.cached, whole.lost) == (3, 2 + 4 + 6, 2 + 4, 0)
    assert whole.cost == pytest.approx(6 + 0.1 * 6)
    # The system message and the newest message: the rest of the prefix changes each time.
    last = cache.replay([conversation], lambda messages: [messages[0], messages[-1]])
    assert (last.calls, last.tokens, last.cached, last.lost) == (3, 6, 2, 0)
    # Two conversations share nothing, and a call without its question is noticed.
    lost = cache.replay([conversation, conversation], lambda messages: messages[:1])
    assert (lost.calls, lost.tokens, lost.cached, lost.lost) == (6, 6, 4, 6)


def test_cache_table_has_every_reducer() -> None:
    """The table compares no trimming, `trim_messages`, the strict rule and three shares."""
    conversations = [_conversation(30)]
    measured = cache.rows(conversations, budgets=(10,))
    text = cache.markdown(conversations, measured)
    assert text.count("\n| 10 messages ") == 5
    spent = {name: spent for _, name, spent in measured}
    assert spent["no trimming"].uncached < spent["`trim_to=0.6`"].uncached
    assert spent["`trim_to=0.6`"].uncached < spent["the strict rule"].uncached
    assert spent["the strict rule"].tokens < spent["no trimming"].tokens


def test_kept_shapes_stand_in_for_conversations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the conversations beside the project, shapes that it keeps are replayed."""
    monkeypatch.setattr(corpus, "TRAJECTORIES", Path("nowhere"))
    replayed = cache.conversations()
    assert len(replayed) > 5
    assert all(len(messages) >= cache.LONG for messages in replayed)
    measured = [("-", "no trimming", cache.replay(replayed[:1], lambda messages: messages))]
    assert "shapes of real conversations" in cache.markdown(replayed, measured)


# --- tables --------------------------------------------------------------------------------------


def test_table_is_written_between_its_markers(tmp_path: Path) -> None:
    """A table replaces what stood between its markers, and nothing else."""
    page = tmp_path / "page.md"
    around = "# A\n<!-- b:start -->\n{}\n<!-- b:end -->\n<!-- c:start -->\n<!-- c:end -->\n"
    page.write_text(around.format("old"))
    tables.write("b", tables.table(["one", "two"], [["a", "1"]]), page)
    assert page.read_text() == around.format("| one | two |\n| --- | ---: |\n| a | 1 |")


def test_table_needs_its_markers(tmp_path: Path) -> None:
    """A page without the markers is left as it is, and the error says what to put where."""
    page = tmp_path / "page.md"
    with pytest.raises(SystemExit, match=r"put <!-- b:start --> and <!-- b:end -->"):
        tables.write("b", "text", page)
    page.write_text("<!-- b:end --> <!-- b:start -->")
    with pytest.raises(SystemExit, match=r"page\.md"):
        tables.write("b", "text", page)
    assert page.read_text() == "<!-- b:end --> <!-- b:start -->"
