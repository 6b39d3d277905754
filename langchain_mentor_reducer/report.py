"""What a reduction kept, what it dropped and why.

All of it is derived from a `Cut` afterwards, so a reduction that nobody asks about does
not pay for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, Literal, NamedTuple

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
    """Which turn it belongs to, the oldest being 1."""
    message: BaseMessage
    left: BaseMessage | None
    """What is kept of it: the very message, a copy without stranded answers, or None."""
    reason: Reason


@dataclass(frozen=True, slots=True)
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

    @property
    def kept(self) -> list[BaseMessage]:
        """What is sent: the system message first, then the rest in its order."""
        left = [(v.reason != "system message", v.left) for v in self.verdicts]
        return [m for _, m in sorted(left, key=lambda pair: pair[0]) if m is not None]

    @property
    def dropped(self) -> list[Verdict]:
        """What is not sent, or not whole, and why."""
        return [verdict for verdict in self.verdicts if verdict.left is not verdict.message]

    @property
    def used(self) -> dict[str, float]:
        """How much of each budget is used, by the name of its option."""
        used = {
            "max_messages": self.after.messages,
            "max_turns": self.after.turns,
            "max_tokens": self.after.tokens or 0,
        }
        return {name: used[name] for name in self.limits}

    def __str__(self) -> str:
        """Show the turns at a glance, one a line."""
        budgets = ", ".join(
            f"{name} {self.used[name]:,.15g} of {limit:,}" for name, limit in self.limits.items()
        )
        lines = [
            (
                f"Kept {self.after.messages} of {self.before.messages} messages, "
                f"{self.after.turns} of {self.before.turns} turns ({budgets})."
            )
        ]
        if self.overflowed:
            lines.append("The newest step does not fit beside its question.")
        lines += [f"  + {_quoted(v.message)}  system message" for v in self.verdicts if not v.turn]
        for kept, run in groupby(self.turns, key=lambda turn: any(v.left for v in turn)):
            turns = list(run)
            if not kept and len(turns) > _SHOWN:
                count = sum(map(len, turns))
                name = f"turns {turns[0][0].turn}-{turns[-1][0].turn}"
                lines.append(f"  - {name}  {count} messages  older turns")
            else:
                lines += map(_line, turns)
        return "\n".join(lines)

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:  # noqa: FBT001
        """Show the turns where IPython cannot draw them."""
        printer.text(str(self))

    def _repr_html_(self) -> str:
        """Draw the turns, for a notebook."""
        from langchain_mentor_reducer.html import draw  # noqa: PLC0415 - where it is looked at

        return draw(self)

    @property
    def turns(self) -> list[list[Verdict]]:
        """The verdicts turn by turn, the system message left out."""
        turns: dict[int, list[Verdict]] = {}
        for verdict in self.verdicts:
            if verdict.turn:
                turns.setdefault(verdict.turn, []).append(verdict)
        return list(turns.values())


def report(
    messages: Sequence[BaseMessage],
    cut: Cut,
    *,
    meter: Meter | None,
    starts_turn: StartsTurn | None,
    limits: dict[str, int],
) -> Reduction:
    """Derive the account of a cut."""
    turns = _turns(messages, cut.system, starts_turn)
    kept = set(cut.indices(len(messages)))
    tail = [i for i in kept if i >= cut.start]
    newest = cut.question if cut.question is not None else min(tail, default=None)
    dropped = {turns[i] for i in range(len(messages)) if i not in kept and i != cut.system}
    cut_turn = turns[newest] if newest is not None and turns[newest] in dropped else None

    def reason(i: int) -> Reason:
        if i == cut.system:
            return "system message"
        if i in cut.stranded:
            return "its call was cut"
        if i not in kept:
            return "over budget in the newest turn" if turns[i] == cut_turn else "older turn"
        if turns[i] != cut_turn:
            return "recent turn"
        return "question of a cut turn" if i == cut.question else "most recent of a cut turn"

    def left(i: int) -> BaseMessage | None:
        return cut.left(messages, i) if i == cut.system or i in kept else None

    verdicts = tuple(
        Verdict(i, turns[i], message, left(i), reason(i)) for i, message in enumerate(messages)
    )
    return Reduction(
        verdicts=verdicts,
        before=_size([(v.turn, v.message) for v in verdicts], meter),
        after=_size([(v.turn, v.left) for v in verdicts if v.left], meter),
        limits=limits,
        newest_turn_cut=cut_turn is not None and cut_turn == max(turns),
        overflowed=cut.overflowed,
    )


def _turns(
    messages: Sequence[BaseMessage], system: int | None, starts_turn: StartsTurn | None
) -> list[int]:
    """Number the turn of each message from 1; the system message belongs to none."""
    numbers, turn = [], 0
    for i, message in enumerate(messages):
        if i == system:
            numbers.append(0)
            continue
        turn += not turn or is_question(message, starts_turn)
        numbers.append(turn)
    return numbers


def _size(kept: list[tuple[int, BaseMessage]], meter: Meter | None) -> Size:
    turns = [turn for turn, _ in kept if turn]
    tokens = meter([message for _, message in kept]) if meter else None
    return Size(len(turns), len(set(turns)), tokens)


_WIDTH: Final = 40
"""How much of a message is quoted, in characters."""

_SHOWN: Final = 3
"""How many dropped turns in a row are still shown one by one."""


def _line(turn: list[Verdict]) -> str:
    left = sum(verdict.left is not None for verdict in turn)
    dropped = list(dict.fromkeys(v.reason for v in turn if v.left is not v.message))
    mark = "+" if not dropped else "~" if left else "-"
    count = f"{left} of {len(turn)}" if dropped and left else f"{len(turn)}"
    plural = "message" if len(turn) == 1 else "messages"
    why = f"  {', '.join(dropped)}" if dropped else ""
    return f"  {mark} turn {turn[0].turn}  {_quoted(turn[0].message)}  {count} {plural}{why}"


def _quoted(message: BaseMessage) -> str:
    text = " ".join(message.text.split())
    return f'"{text[: _WIDTH - 3]}..."' if len(text) > _WIDTH else f'"{text}"'
