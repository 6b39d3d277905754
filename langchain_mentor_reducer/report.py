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
    """What is kept of it: the very message, a copy without stranded answers, or None."""
    reason: Reason


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
    """One for each message of the history, in its order."""
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
    def kept(self) -> list[BaseMessage]:
        """What is sent: the system message first, then the rest in its order."""
        system_first = sorted(self.verdicts, key=lambda verdict: verdict.turn > 0)
        return [verdict.left for verdict in system_first if verdict.left]

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
    *,
    meter: Meter | None,
    starts_turn: StartsTurn | None,
    limits: dict[str, int],
    draw: Callable[[Reduction], str],
) -> Reduction:
    """Work out the account of a cut."""
    turns = _turns(messages, cut.system, starts_turn)
    kept = {cut.system, *cut.indices(len(messages))}
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

    verdicts = tuple(
        Verdict(i, turns[i], message, cut.left(messages, i) if i in kept else None, reason(i))
        for i, message in enumerate(messages)
    )
    return Reduction(
        verdicts=verdicts,
        before=_size([(v.turn, v.message) for v in verdicts], meter),
        after=_size([(v.turn, v.left) for v in verdicts if v.left], meter),
        limits=limits,
        newest_turn_cut=max(turns, default=0) in cut_turn,
        overflowed=cut.overflowed,
        draw=draw,
    )


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
    why = dict.fromkeys(v.reason for v in turn if v.left is not v.message)
    said = [f"turn {turn[0].turn}", _quoted(turn[0].message), count, ", ".join(why)]
    return f"  {MARKS[became]} {'  '.join(filter(None, said))}"


def _quoted(message: BaseMessage) -> str:
    text = " ".join(message.text.split())
    return f'"{text[:37]}..."' if len(text) > 40 else f'"{text}"'  # noqa: PLR2004
