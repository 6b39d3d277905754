"""A window: what is kept of a history, as a handful of indices into it.

The list that is sent, the report and the removals from a state are all derived from it.
"""

from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import NamedTuple

from langchain_core.messages import BaseMessage

from langchain_mentor_reducer.calls import without
from langchain_mentor_reducer.pairs import Stranded, pieces, unpaired
from langchain_mentor_reducer.turns import StartsTurn, questions


class Cut(NamedTuple):
    """What is kept of a history."""

    system: int | None = None
    """The system message, which leads."""
    question: int | None = None
    """A question before `start` that is kept without the messages between."""
    start: int = 0
    """All from here on is kept, less the stranded answers."""
    stranded: Stranded = MappingProxyType({})
    overflowed: bool = False
    """Whether the newest step did not fit beside its question."""

    def of(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """List what is kept of `messages`: the very objects, the system message first."""
        window = list(messages[self.start :])
        changed = self.stranded.keys() if self.system is None else {*self.stranded, self.system}
        for i in sorted(changed, reverse=True):
            if i >= self.start:
                left = None if i == self.system else self.left(messages, i)
                at = i - self.start
                window[at : at + 1] = [] if left is None else [left]
        if self.question is not None and (question := self.left(messages, self.question)):
            window.insert(0, question)
        if self.system is not None:
            window.insert(0, messages[self.system])
        return window

    def places(self, messages: Sequence[BaseMessage]) -> list[int]:
        """List where the messages of the window stand in `messages`, in its order."""
        kept = [i for i in self.indices(len(messages)) if self.left(messages, i) is not None]
        return kept if self.system is None else [self.system, *kept]

    def indices(self, end: int) -> Iterator[int]:
        """Go through what is kept before `end`, stranded or not, but the system message."""
        if self.question is not None:
            yield self.question
        yield from (i for i in range(self.start, end) if i != self.system)

    def left(self, messages: Sequence[BaseMessage], i: int) -> BaseMessage | None:
        """Return what is left of a kept message once its stranded answers are gone."""
        parts = self.stranded.get(i)
        return messages[i] if parts is None else without(messages[i], parts)

    def less_orphans(
        self, messages: Sequence[BaseMessage], starts_turn: StartsTurn | None
    ) -> "Cut":
        """Take out the answers behind a question whose call is not in the window.

        In a state that earlier cuts were written to, one of those took the call.
        """
        lost = dict(self.stranded)
        for begin, stop in pieces(self.question, self.start, len(messages)):
            for i, part, _ in unpaired(messages, begin, stop):
                if next(questions(messages, 0, i, starts_turn), None) is not None:
                    lost[i] = lost.get(i, frozenset()) | {part}
        return self._replace(stranded=lost)
