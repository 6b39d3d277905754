"""Where turns and steps begin in a history, for the rule to look up.

`Search` goes back from the end and reads no more than it must. `Outline` reads a history
once, at C speed where its messages are text, for the many looks of a fold.
"""

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from itertools import compress, islice
from operator import attrgetter
from typing import Final

from langchain_core.messages import BaseMessage

from langchain_mentor_reducer.calls import only_answers
from langchain_mentor_reducer.turns import ROLES, StartsTurn, is_question, questions, role_of, steps


class Search:
    """Looks up where turns and steps begin, from the end."""

    def __init__(self, messages: Sequence[BaseMessage], starts_turn: StartsTurn | None) -> None:
        self.messages = messages
        self.starts_turn = starts_turn

    def first_question(self, start: int, end: int) -> int:
        """Find the first question in `messages[start:end]`, or -1."""
        for i in range(start, end):
            message = self.messages[i]
            # Most messages are not a user's, and a call costs.
            if ROLES[type(message)] not in {"ai", "result"} and is_question(
                message, self.starts_turn
            ):
                return i
        return -1

    def newest_question(self, start: int, end: int) -> int:
        """Find the newest question in `messages[start:end]`, or -1."""
        return next(questions(self.messages, start, end, self.starts_turn), -1)

    def newest_step(self, start: int, end: int) -> int:
        """Find where the newest step in `messages[start:end]` begins, or the end."""
        return next(steps(self.messages, start, end), end)

    def turn(self, n: int, start: int, end: int) -> int:
        """Find the n-th newest question in `messages[start:end]`, or the start."""
        back = questions(self.messages, start, end, self.starts_turn)
        return next(islice(back, n - 1, None), start)


class _Letters(dict[type, int]):
    """What the messages of a class are, as a letter: that of their role, but `q` for a user."""

    def __missing__(self, cls: type) -> int:
        self[cls] = _letter(ROLES[cls])
        return self[cls]


def _letter(role: str) -> int:
    return ord("q" if role == "user" else role[0])


_LETTERS: Final = _Letters()
_ANSWER: Final = ord("r")
_QUESTIONS: Final = bytes(letter in b"q" for letter in range(256))
_UNSURE: Final = bytes(letter not in b"aors" for letter in range(256))


class Outline:
    """Looks up where turns and steps begin, in a history that was read once."""

    def __init__(self, messages: Sequence[BaseMessage], starts_turn: StartsTurn | None) -> None:
        kinds = bytearray(map(_LETTERS.__getitem__, map(type, messages)))
        unsure = kinds.translate(_UNSURE)
        asking = map(attrgetter("content"), compress(messages, unsure))
        sure = starts_turn is None and not kinds.translate(None, b"aorsq")
        if not (sure and {str}.issuperset(map(type, asking))):
            for i in compress(range(len(kinds)), unsure):
                kinds[i] = _letter_of(messages[i], starts_turn)
        self.kinds = bytes(kinds)
        """A letter a message: question, answer (`r`), `AIMessage`, system message or other."""
        system = self.kinds.find(b"s")
        self.system = None if system < 0 else system
        """The first system message."""

    @cached_property
    def questions(self) -> list[int]:
        """Where the questions are."""
        return list(compress(range(len(self.kinds)), self.kinds.translate(_QUESTIONS)))

    def first_question(self, start: int, end: int) -> int:
        """Find the first question in `messages[start:end]`, or -1."""
        return self.kinds.find(b"q", start, end)

    def newest_question(self, start: int, end: int) -> int:
        """Find the newest question in `messages[start:end]`, or -1."""
        return self.kinds.rfind(b"q", start, end)

    def newest_step(self, start: int, end: int) -> int:
        """Find where the newest step in `messages[start:end]` begins, or the end."""
        step = self.kinds.rfind(b"a", start, end)
        return end if step < 0 else step

    def turn(self, n: int, start: int, end: int) -> int:
        """Find the n-th newest question in `messages[start:end]`, or the start."""
        i = bisect_left(self.questions, end) - n
        return max(self.questions[i], start) if i >= 0 else start

    def over(self, n: int, start: int, *, asked: bool) -> int:
        """Find the first end up to which there are more than n turns from `start` on.

        What stands before the next question is a turn, and so is a question that was `asked`
        before the start.
        """
        questions = self.questions
        i = bisect_left(questions, start)
        first = start + (start == self.system)
        if asked or i == len(questions) or questions[i] > first:
            i -= 1
        return questions[i + n] + 1 if i + n < len(questions) else len(self.kinds) + 1

    def next_call(self, start: int) -> int:
        """Find the first message from `start` on that is no answer, or the end.

        There a model may be called. Behind the end there is nothing to find.
        """
        kinds = self.kinds
        while start < len(kinds) and kinds[start] == _ANSWER:
            start += 1
        return start


def _letter_of(message: BaseMessage, starts_turn: StartsTurn | None) -> int:
    role = role_of(message)
    if role != "user" or is_question(message, starts_turn):
        return _letter(role)
    return _ANSWER if only_answers(message) else ord("o")
