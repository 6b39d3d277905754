"""The measure of facts kept, on a conversation whose facts are counted by hand."""

import json
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from tests.acceptance import corpus
from tests.acceptance.corpus import with_ids
from tests.benchmarks import facts
from tests.benchmarks.cache import History


def _conversation() -> History:
    def look_up(about: str, id_: str) -> AIMessage:
        return AIMessage("", tool_calls=[{"name": "get", "args": {"of": [about]}, "id": id_}])

    return with_ids(
        [
            SystemMessage("Open since 1999."),
            HumanMessage("Where is order A-17? I asked 2 times."),
            look_up("A-17", "call_100"),
            ToolMessage("Crate 4711, since 1999.", tool_call_id="call_100"),
            AIMessage("In crate 4711, seen by 800 people."),
            HumanMessage("And the other one?"),
            look_up("4711", "call_200"),
            ToolMessage("Beside it.", tool_call_id="call_200"),
            AIMessage("Order A-17 lies in 4711 since 1999, for 30 days."),
        ]
    )


def test_facts_are_ids_and_numbers() -> None:
    """Texts and arguments hold facts; ids of calls, short numbers and plain words are none."""
    named = facts.stood(_conversation())
    assert named[1:5] == [{"A-17"}, {"A-17"}, {"4711"}, {"4711", "800"}]
    assert named[0] == set()
    assert facts.recurring(_conversation()) == [[1, 2, 8], [3, 4, 6, 8]]


def test_facts_kept_are_counted() -> None:
    """At three messages the last two calls go on to use three facts that stood before.

    Call 6 uses 4711, and its history holds five messages: the slice keeps 3 to 5, whose result has
    lost its call; the rule keeps the question alone. Call 8 uses A-17 and 4711: the slice and the
    rule keep 5 to 7, where 4711 still stands, in the arguments. What has no call and no result is
    1, 4 and 5, both times: all three facts.
    """
    measured = facts.measure([_conversation()], budgets=(3,))
    rows = {name: row for (_, name), row in measured.items()}
    sliced, ours = rows["the system message and the last N"], rows["**this package**"]
    assert (sliced.calls, sliced.used, sliced.kept) == (2, 3, 2)
    assert (ours.calls, ours.used, ours.kept) == (2, 3, 1)
    assert (sliced.refused, sliced.unpaired) == (1, 1)
    assert (ours.refused, ours.unpaired) == (0, 0)
    assert rows["the rule of `MessageCountingChatReducer`"].kept == 3


def test_a_share_of_the_calls_is_drawn_by_a_seed() -> None:
    """Of more calls than are asked for the same ones are drawn each time."""
    once, again = (facts.measure([_conversation()] * 9, (3,), at_most=4) for _ in range(2))
    assert once == again
    assert {row.calls for row in once.values()} == {4}


def test_shapes_stand_in_for_conversations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the conversations their shapes are measured, and the text says so."""
    monkeypatch.setattr(corpus, "TRAJECTORIES", Path("nowhere"))
    histories = facts.conversations()
    stored = json.loads(facts.FACTS.read_text(encoding="utf-8"))
    assert [facts.recurring(history) for history in histories] == stored
    measured = facts.measure(histories, at_most=100)
    assert all(row.used for row in measured.values())
    text = facts.markdown(histories, measured)
    assert "shapes of real conversations" in text
    assert text.count(" messages | ") == len(measured)
