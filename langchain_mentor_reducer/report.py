"""What a reduction kept, what it dropped and why.

All of it is worked out from a `Cut` afterwards, so a reduction that nobody asks about does
not pay for it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final, Literal, NamedTuple

from langchain_core.messages import BaseMessage

from langchain_mentor_reducer.budget import Meter
from langchain_mentor_reducer.mend import Mended
from langchain_mentor_reducer.turns import StartsTurn, is_question
from langchain_mentor_reducer.window import Cut

Reason = Literal[
    "system message",
    "recent turn",
    "question of a cut turn",
    "most recent of a cut turn",
    "older turn",
    "over budget in the newest turn",
    "its call was cut",
]
"""Why a message was kept (the first four) or dropped (the last three)."""

Fate = Literal["kept", "kept in part", "dropped"]

MARKS: Final[dict[Fate, str]] = {"kept": "+", "kept in part": "~", "dropped": "-"}


class Size(NamedTuple):
    """How large a list is; tokens only where the budget limits them."""

    messages: int
    """Messages, the system message not counted."""
    turns: int
    tokens: float | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one message."""

    index: int
    """Where the message stands in the history."""
    turn: int
    """Which turn it belongs to: the oldest is 1, and the system message stands in 0."""
    message: BaseMessage
    left: BaseMessage | None
    """What is kept of it: the very message, a copy without some of its parts, or None."""
    reason: Reason
    repair: str | None = None
    """What was mended about it."""
    added: bool = False
    """Whether mending put it in, behind the message at `index`."""

    @property
    def why(self) -> str:
        """What there is to say of it, where it is not simply kept."""
        return self.repair or (self.reason if self.left is not self.message else "")


@dataclass(frozen=True, slots=True, repr=False)
class Reduction:
    """The account of one reduction, from `MentorChatReducer.explain`.

    ```python
    from langchain_core.messages import AIMessage, HumanMessage
    from langchain_mentor_reducer import MentorChatReducer

    history = [HumanMessage("One?"), AIMessage("1"), HumanMessage("Two?"), AIMessage("2")]
    reduction = MentorChatReducer(3).explain(history)
    assert reduction.before == (4, 2, None)
    assert reduction.after == (2, 1, None)
    assert [dropped.reason for dropped in reduction.dropped] == ["older turn", "older turn"]
    ```
    """

    verdicts: tuple[Verdict, ...]
    """One for each message of the history, in its order, and for each that was added."""
    kept: list[BaseMessage]
    """What is sent: the system message first, then the rest in its order."""
    before: Size
    after: Size
    limits: dict[str, int]
    """The budgets that were set, by the name of their option."""
    newest_turn_cut: bool
    """Whether the newest turn is over the budget by itself, and so was kept in part."""
    overflowed: bool
    """Whether its newest step, too, did not fit beside its question."""
    draw: Callable[["Reduction"], str] = field(compare=False)
    """Draws it as HTML, for a notebook."""

    @property
    def dropped(self) -> list[Verdict]:
        """What is not sent, or not whole, and why."""
        return [verdict for verdict in self.verdicts if verdict.left is not verdict.message]

    @property
    def turns(self) -> list[list[Verdict]]:
        """The verdicts turn by turn, the system message left out."""
        spoken = (verdict for verdict in self.verdicts if verdict.turn)
        return [list(turn) for _, turn in groupby(spoken, key=lambda verdict: verdict.turn)]

    @property
    def used(self) -> dict[str, float]:
        """How much of each budget is used, by the name of its option."""
        return {name: getattr(self.after, name.removeprefix("max_")) or 0 for name in self.limits}

    def __repr__(self) -> str:
        """Show the turns at a glance, one a line."""
        budgets = [f"{name} {self.used[name]:,.15g} of {self.limits[name]:,}" for name in self.used]
        messages = f"{self.after.messages} of {self.before.messages} messages"
        turns = f"{self.after.turns} of {self.before.turns} turns"
        lines = [f"Kept {messages}, {turns} ({', '.join(budgets)})."]
        if self.overflowed:
            lines.append("The newest step does not fit beside its question.")
        lines += [f"  + {_quoted(v.message)}  system message" for v in self.verdicts if not v.turn]
        for became, run in groupby(self.turns, key=fate):
            turns_alike = list(run)
            if became == "dropped" and len(turns_alike) > _SHOWN:
                count = sum(map(len, turns_alike))
                name = f"turns {turns_alike[0][0].turn}-{turns_alike[-1][0].turn}"
                lines.append(f"  - {name}  {count} messages  older turns")
            else:
                lines += map(_line, turns_alike)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return self.draw(self)


def fate(verdicts: Sequence[Verdict]) -> Fate:
    """Tell what became of some messages taken together."""
    if all(verdict.left is verdict.message for verdict in verdicts):
        return "kept"
    return "kept in part" if any(verdict.left for verdict in verdicts) else "dropped"


def report(
    messages: Sequence[BaseMessage],
    cut: Cut,
    repair: tuple[Mended, Cut] | None,
    *,
    meter: Meter | None,
    starts_turn: StartsTurn | None,
    limits: dict[str, int],
    draw: Callable[[Reduction], str],
) -> Reduction:
    """Work out the account of a cut, and of what was mended in it."""
    turns = _turns(messages, cut.system, starts_turn)
    kept = {cut.system, *cut.indices(len(messages))}
    out = _unmended(messages, cut)
    if repair:
        out = _mended(cut.places(messages), *repair)
        kept -= out.cut_again
    dropped_of = {turn for i, turn in enumerate(turns) if i not in kept}
    cut_turn = dropped_of.intersection(turn for i, turn in enumerate(turns) if i in kept)

    def reason(i: int) -> Reason:
        if i == cut.system:
            return "system message"
        if i in cut.stranded:
            return "its call was cut"
        if i not in kept:
            return "over budget in the newest turn" if turns[i] in cut_turn else "older turn"
        if turns[i] not in cut_turn:
            return "recent turn"
        return "question of a cut turn" if i == cut.question else "most recent of a cut turn"

    verdicts = []
    for i, message in enumerate(messages):
        turn, why = turns[i], reason(i)
        verdicts += [
            Verdict(i, turn, message, out.left.get(i), why, out.said.get(i)),
            *(Verdict(i, turn, new, new, why, _PUT_IN, added=True) for new in out.added.get(i, ())),
        ]
    return Reduction(
        verdicts=tuple(verdicts),
        kept=out.sent,
        before=_size([(v.turn, v.message) for v in verdicts if not v.added], meter),
        after=_size([(v.turn, v.left) for v in verdicts if v.left], meter),
        limits=limits,
        newest_turn_cut=max(turns, default=0) in cut_turn,
        overflowed=cut.overflowed,
        draw=draw,
    )


_PUT_IN: Final = "put in to mend it"


class _Outcome(NamedTuple):
    """What is sent, and by the index of a message what became of it."""

    sent: list[BaseMessage]
    left: dict[int, BaseMessage | None]
    said: dict[int, str]
    """What was mended."""
    added: dict[int, list[BaseMessage]]
    """What mending put in behind the message."""
    cut_again: set[int]
    """What no longer fit beside it."""


def _unmended(messages: Sequence[BaseMessage], cut: Cut) -> _Outcome:
    left = {i: cut.left(messages, i) for i in cut.places(messages)}
    return _Outcome(cut.of(messages), left, {}, {}, set())


def _mended(places: list[int], mended: Mended, again: Cut) -> _Outcome:
    """Follow the messages at `places` through mending and the cut after it."""
    left: dict[int, BaseMessage | None] = {}
    added: dict[int, list[BaseMessage]] = {}
    behind = 0
    for at in again.places(mended.messages):
        source = mended.sources[at]
        if source is None or places[source] in left:
            added.setdefault(behind, []).append(mended.messages[at])
        else:
            behind = places[source]
            left[behind] = again.left(mended.messages, at)
    cut_again = {places[source] for source in mended.sources if source is not None} - left.keys()
    said = {places[each.source]: each.reason for each in mended.repairs}
    said = {i: reason for i, reason in said.items() if i not in cut_again}
    return _Outcome(again.of(mended.messages), left, said, added, cut_again)


def _turns(
    messages: Sequence[BaseMessage], system: int | None, starts_turn: StartsTurn | None
) -> list[int]:
    """Number the turn of each message."""
    numbers, turn = [], 0
    for i, message in enumerate(messages):
        turn += i != system and (not turn or is_question(message, starts_turn))
        numbers.append(0 if i == system else turn)
    return numbers


def _size(kept: list[tuple[int, BaseMessage]], meter: Meter | None) -> Size:
    turns = [turn for turn, _ in kept if turn]
    tokens = meter([message for _, message in kept]) if meter else None
    return Size(len(turns), len(set(turns)), tokens)


_SHOWN: Final = 3
"""How many dropped turns in a row are still shown one by one."""


def _line(turn: list[Verdict]) -> str:
    became = fate(turn)
    left = f"{sum(verdict.left is not None for verdict in turn)} of "
    count = f"{left if became == 'kept in part' else ''}{len(turn)} message{'s' * (len(turn) > 1)}"
    why = dict.fromkeys(v.why for v in turn if v.why)
    said = [f"turn {turn[0].turn}", _quoted(turn[0].message), count, ", ".join(why)]
    return f"  {MARKS[became]} {'  '.join(filter(None, said))}"


def _quoted(message: BaseMessage) -> str:
    text = " ".join(message.text.split())
    return f'"{text[:37]}..."' if len(text) > 40 else f'"{text}"'  # noqa: PLR2004
