"""What a reduction kept, dropped and why: worked out from a `Cut` when somebody asks."""

from collections import defaultdict
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

_SHOWN: Final = 3
"""How many dropped turns in a row are still shown one by one."""


class Size(NamedTuple):
    """How large a list is: the system message counts for its tokens alone, where they count."""

    messages: int
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
            alike = list(run)
            if became == "dropped" and len(alike) > _SHOWN:
                name = f"turns {alike[0][0].turn}-{alike[-1][0].turn}"
                lines.append(f"  - {name}  {sum(map(len, alike))} messages  older turns")
            else:
                lines += map(_line, alike)
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
    window, places = cut.of(messages), cut.places(messages)
    # A window that was not mended came through as it was.
    mended, again = repair or (Mended(window, [*range(len(window))], []), Cut())
    left: dict[int, BaseMessage | None] = {}
    added: dict[int, list[BaseMessage]] = defaultdict(list)
    behind = 0
    for at in again.places(mended.messages):
        source = mended.sources[at]
        if source is None or places[source] in left:
            added[behind].append(mended.messages[at])
        else:
            behind = places[source]
            left[behind] = again.left(mended.messages, at)
    cut_again = {places[source] for source in mended.sources if source is not None} - left.keys()
    repairs = {places[each.source]: each.reason for each in mended.repairs}
    kept = {cut.system, *cut.indices(len(messages))} - cut_again
    turns, turn = [], 0
    for i, message in enumerate(messages):
        turn += i != cut.system and (not turn or is_question(message, starts_turn))
        turns.append(turn if i != cut.system else 0)
    cut_turn = {turn for i, turn in enumerate(turns) if i not in kept}
    cut_turn &= {turn for i, turn in enumerate(turns) if i in kept}

    def reason(i: int) -> Reason:
        if i == cut.system:
            return "system message"
        if i in cut.stranded:
            return "its call was cut"
        if turns[i] not in cut_turn:
            return "recent turn" if i in kept else "older turn"
        if i not in kept:
            return "over budget in the newest turn"
        return "question of a cut turn" if i == cut.question else "most recent of a cut turn"

    verdicts = []
    for i, message in enumerate(messages):
        turn, why, said = turns[i], reason(i), None if i in cut_again else repairs.get(i)
        verdicts += [
            Verdict(i, turn, message, left.get(i), why, said),
            *(Verdict(i, turn, m, m, why, "put in to mend it", added=True) for m in added[i]),
        ]
    return Reduction(
        verdicts=tuple(verdicts),
        kept=again.of(mended.messages),
        before=_size([(v.turn, v.message) for v in verdicts if not v.added], meter),
        after=_size([(v.turn, v.left) for v in verdicts if v.left], meter),
        limits=limits,
        newest_turn_cut=max(turns, default=0) in cut_turn,
        overflowed=cut.overflowed,
        draw=draw,
    )


def _size(kept: list[tuple[int, BaseMessage]], meter: Meter | None) -> Size:
    turns = [turn for turn, _ in kept if turn]
    tokens = meter([message for _, message in kept]) if meter else None
    return Size(len(turns), len(set(turns)), tokens)


def told(turn: Sequence[Verdict]) -> tuple[str, str]:
    """Say how many messages of a turn are kept, and why the others are not."""
    left = f"{sum(v.left is not None for v in turn)} of " if fate(turn) == "kept in part" else ""
    why = dict.fromkeys(v.why for v in turn if v.why)
    return f"{left}{len(turn)} message{'s' * (len(turn) > 1)}", ", ".join(why)


def _line(turn: list[Verdict]) -> str:
    said = [f"turn {turn[0].turn}", _quoted(turn[0].message), *told(turn)]
    return f"  {MARKS[fate(turn)]} {'  '.join(filter(None, said))}"


def _quoted(message: BaseMessage) -> str:
    text = " ".join(message.text.split())
    return f'"{text[:37]}..."' if len(text) > 40 else f'"{text}"'  # noqa: PLR2004
