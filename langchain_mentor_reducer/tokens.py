"""Tokens of stretches of a history, the system message left out.

`Tokens` counts from the end of a history and stops where the room does. `Sums` counts a
whole history once, for the many looks of a fold.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate, chain
from typing import Final

from langchain_core.messages import BaseMessage

from langchain_mentor_reducer.budget import Meter
from langchain_mentor_reducer.pairs import stranded
from langchain_mentor_reducer.turns import StartsTurn, check, questions, role_of
from langchain_mentor_reducer.window import Cut

_BLOCK: Final = 16
"""How many messages are counted together, where that is the same and quicker."""

_PROBE: Final = 64
"""How many messages at the end of a long turn are counted before all of it."""


class Tokens:
    """Counts from the end of a history; what a cut strands takes no room."""

    def __init__(
        self,
        messages: Sequence[BaseMessage],
        meter: Meter,
        system: int | None,
        starts_turn: StartsTurn | None,
    ) -> None:
        self.messages = messages
        self.meter = meter
        self.system = system
        self.of_system = 0 if system is None else meter.one(messages[system])
        self.starts_turn = starts_turn
        self.counted: dict[int, float] = {}
        """Tokens of the messages that were counted one by one."""

    def floor(self, low: int, end: int, room: float) -> int:
        """Find the earliest message of `messages[low:end]` from which all to the end fits.

        A counter of lists is shown whole turns, and there it is the start of one.
        """
        if not self.meter.one_by_one:
            return self._floor_of_turns(low, end, room)
        while self.meter.takes_lists and end > low:
            start = max(low, end - _BLOCK)
            tokens = self.meter(self._stretch(start, end))
            if tokens > room:
                break
            end, room = start, room - tokens
        while end > low and (room := room - self._one(end - 1)) >= 0:
            end -= 1
        return end

    def tail(self, low: int, end: int, room: float) -> int:
        """Find where the longest run at the end of `messages[low:end]` begins that fits."""

        def fits(start: int) -> bool:
            return self.of(start, end) <= room

        # The run is short and the turn may be long, so feel for it from the end. What fits as
        # it stands fits without its stranded answers, too.
        known, span = self.floor(low, end, room) if self.meter.one_by_one else end, 1
        while (start := max(low, known - span)) > low and fits(start):
            known, span = start, 2 * span
        return bisect_left(range(end), x=True, lo=start, hi=known, key=fits)

    def of(self, start: int, end: int) -> float:
        """Count what would be sent of `messages[start:end]` without the rest."""
        kept = Cut(self.system, None, start, stranded(self.messages, None, start, end))
        if self.meter.one_by_one:
            whole = sum(self._one(i) for i in range(start, end) if i not in kept.stranded)
            cut = (kept.left(self.messages, i) for i in kept.stranded)
            return whole + self.meter([message for message in cut if message is not None])
        left = (kept.left(self.messages, i) for i in kept.indices(end))
        return self.meter([message for message in left if message is not None])

    def _floor_of_turns(self, low: int, end: int, room: float) -> int:
        for start in chain(questions(self.messages, low, end, self.starts_turn), [low]):
            span = _PROBE
            while span < end - start:
                if self.of(end - span, end) > room:
                    return end
                span *= 2
            room -= self.meter(self._stretch(start, end))
            if room < 0:
                break
            end = start
        return end

    def _one(self, i: int) -> float:
        if i not in self.counted:
            role_of(self.messages[i])  # what is no message is not counted
            self.counted[i] = 0 if i == self.system else self.meter.one(self.messages[i])
        return self.counted[i]

    def _stretch(self, start: int, end: int) -> list[BaseMessage]:
        check(self.messages[start:end])
        return [self.messages[i] for i in range(start, end) if i != self.system]


class Sums:
    """Looks up what was counted once, stranded answers with the rest."""

    def __init__(self, messages: Sequence[BaseMessage], meter: Meter, system: int | None) -> None:
        tokens = list(map(meter.one, messages))
        self.of_system: float = 0
        if system is not None:
            self.of_system, tokens[system] = tokens[system], 0
        self.sums = list(accumulate(tokens, initial=0.0))

    def floor(self, low: int, end: int, room: float) -> int:
        """Find the earliest message of `messages[low:end]` from which all to the end fits."""
        return bisect_left(self.sums, self.sums[end] - room, low, end)

    tail = floor

    def of(self, start: int, end: int) -> float:
        """Return the tokens of `messages[start:end]`."""
        return self.sums[end] - self.sums[start]

    def over(self, start: int, room: float) -> int:
        """Find the first end up to which the messages from `start` do not fit the room."""
        return bisect_right(self.sums, self.sums[start] + room)
