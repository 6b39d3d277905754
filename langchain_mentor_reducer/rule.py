"""The rule: which messages of a history are kept.

Rule 1. The most recent whole turns that fit the budget are kept, and every tool call
        together with its result.
Rule 2. The message budget counts every message but the system message. It is at least 1.
Rule 3. A turn starts at a user message, unless that only answers tool calls.
Rule 4. Turns are kept newest first while they fit. The first that does not fit is dropped
        with everything older.
Rule 5. Of a newest turn that does not fit by itself, its question and its most recent
        messages are kept.
Rule 6. An answer whose call was cut away is removed with it.
Rule 7. The first system message is always kept, is not counted, and leads.
Rule 8. There is no memory: equal histories give equal windows.

What is kept stands at the end of a history, so the walk starts there and what is dropped
is not read. A `Cut` is a handful of indices; the list that is sent, the report and the
removals from a state are all derived from it.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from math import inf
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from langchain_core.messages import BaseMessage

from langchain_mentor_reducer.budget import Budget
from langchain_mentor_reducer.calls import Call, answers_of, calls_of, without
from langchain_mentor_reducer.turns import (
    ROLES,
    StartsTurn,
    first_system,
    questions,
    role_of,
    steps,
)

Overflow = Literal["trim", "keep", "error"]
"""What to do when the newest step does not fit beside its question."""

Stranded = Mapping[int, frozenset[int]]
"""The answers whose call was cut: for a message's index, which of its parts."""


Answer = tuple[int, int, Call]
"""An answer: the index of its message, which of its parts answers, and the call."""


class OverBudgetError(ValueError):
    """The newest step does not fit beside its question, under `overflow="error"`."""


class Cut(NamedTuple):
    """What is kept of a history, as indices into it."""

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

    def indices(self, end: int) -> Iterator[int]:
        """Go through what is kept before `end`, stranded or not, but the system message."""
        if self.question is not None:
            yield self.question
        yield from (i for i in range(self.start, end) if i != self.system)

    def left(self, messages: Sequence[BaseMessage], i: int) -> BaseMessage | None:
        """Return what is left of a kept message once its stranded answers are gone."""
        parts = self.stranded.get(i)
        return messages[i] if parts is None else without(messages[i], parts)


def cut(
    messages: Sequence[BaseMessage],
    budget: Budget,
    *,
    overflow: Overflow = "trim",
    starts_turn: StartsTurn | None = None,
    written: bool = False,
) -> Cut:
    """Decide what is kept of `messages`.

    ```python
    from langchain_core.messages import AIMessage, HumanMessage
    from langchain_mentor_reducer.budget import Budget
    from langchain_mentor_reducer.rule import cut

    history = [HumanMessage("One?"), AIMessage("1"), HumanMessage("Two?"), AIMessage("2")]
    assert cut(history, Budget(messages=3)).start == 2
    ```

    Args:
        messages: The history.
        budget: The most that may be kept.
        overflow: What to do when the newest step does not fit beside its question.
        starts_turn: Asked about user messages that would start a turn.
        written: Whether `messages` is a state that earlier cuts were written to. There an
            answer behind a question whose call is missing was stranded by an earlier cut.

    Raises:
        OverBudgetError: The newest step does not fit, under `overflow="error"`.
        ValueError: The walk met a `RemoveMessage`, or the token counter failed.
    """
    rule = Rule(messages, budget, starts_turn=starts_turn, written=written)
    rule.system = first_system(messages)
    return rule.apply(Cut(rule.system), len(messages), budget, overflow)


_PROBE: Final = 64
"""From how many messages on a list counter is shown the end of a turn before all of it."""


class Rule:
    """Rules 4 to 6, over what is held of one history; the options are those of `cut`."""

    def __init__(
        self,
        messages: Sequence[BaseMessage],
        budget: Budget,
        *,
        starts_turn: StartsTurn | None,
        written: bool,
    ) -> None:
        self.messages = messages
        self.budget = budget
        self.meter = budget.meter
        self.starts_turn = starts_turn
        self.written = written
        self.system: int | None = None
        self.costs: dict[int, float] = {}
        """Tokens of the messages that were counted one by one."""
        self.first_made: dict[Call, int] | None = None
        """Where each call was first made, where all of the history is read."""

    def apply(self, held: Cut, end: int, target: Budget, overflow: Overflow) -> Cut:
        """Cut what is held of `messages[:end]` to `target`, which is the budget or less.

        A newest turn that fits the budget stays whole, whatever the target.
        """
        limits, start = self.budget, end
        turns, tokens = 0, self.tokens_at(held, self.system)
        low = self.reach(held.start, end, limits.messages, held)
        back = questions(self.messages, low, end, self.starts_turn)
        for turns, question in enumerate(back, 1):
            messages = end - question  # what counts is no more
            if messages > limits.messages:
                messages = self.size(held, question, end)
            if self.meter is not None:
                tokens += self.tokens(held, question, start, limits.tokens - tokens)
            if not limits.allows(messages, turns, tokens):
                break
            start, limits = question, target
        else:
            if low == held.start:  # what is left is the preamble, or a turn held in part
                messages = self.size(held, low, end) + (held.question is not None)
                tokens += self.tokens(held, low, start, limits.tokens - tokens)
                tokens += self.tokens_at(held, held.question)
                if limits.allows(messages, turns + 1, tokens):
                    return self.less_stranded(held, end) if self.written else held
        if start == end:
            return self.newest_turn(held, end, target, overflow)
        return self.less_stranded(Cut(self.system, None, start), end)

    def newest_turn(self, held: Cut, end: int, target: Budget, overflow: Overflow) -> Cut:
        """Keep the question and the most recent messages that fit beside it (rule 5)."""
        question = next(questions(self.messages, held.start, end, self.starts_turn), None)
        low = held.start if question is None else question + 1
        if question is None:
            question = held.question
        asked = question is not None
        tokens = self.tokens_at(held, self.system)
        if question is not None:
            tokens += self.tokens_of_tail(question, question + 1)

        step = next(steps(self.messages, low, end), end)
        size = asked + self.size(held, step, end)
        cost = tokens + self.tokens_of_tail(step, end)
        overflowed = size > 0 and not self.budget.allows(size, 1, cost)
        if overflowed and overflow == "error":
            raise OverBudgetError(_does_not_fit(self.budget, size, cost))

        start = self.tail(held, low, end, target.messages - asked, target.tokens - tokens)
        if not overflowed or overflow == "keep":
            start = min(start, step)
        kept = Cut(self.system, question, start, overflowed=overflowed)
        return self.less_stranded(kept, end)

    def tail(self, held: Cut, low: int, end: int, messages: float, tokens: float) -> int:
        """Find where the longest run at the end of `messages[low:end]` begins that fits."""
        start = self.reach(low, end, messages, held)
        while self.size(held, start, end) > messages:
            start += 1
        if self.meter is None:
            return start

        def fits(at: int) -> bool:
            return self.tokens_of_tail(at, end) <= tokens

        # The run is short and the turn may be long, so feel for it from the end. What fits
        # message by message fits without its stranded answers, too.
        known, span = end, 1
        if self.meter.one_by_one:
            room = tokens
            while known > start and (room := room - self.tokens_in(held, known - 1)) >= 0:
                known -= 1
        while (at := max(start, known - span)) > start and fits(at):
            known, span = at, 2 * span
        return bisect_left(range(end), x=True, lo=at, hi=known, key=fits)

    def reach(self, low: int, end: int, room: float, held: Cut) -> int:
        """Return how far back from `end` as many messages as there is `room` may stand."""
        if room == inf:
            return low
        uncounted = 1 + len(held.stranded)
        return max(low, end - int(room) - uncounted)

    def size(self, held: Cut, start: int, end: int) -> int:
        """Count what is held from `start` to the `end` of all, the system message left out."""
        size = end - start
        if self.system is not None and start <= self.system:
            size -= 1
        if held.stranded:
            size -= sum(i >= start and not held.left(self.messages, i) for i in held.stranded)
        return size

    def tokens(self, held: Cut, start: int, end: int, room: float) -> float:
        """Count the tokens of what is held of `messages[start:end]`, as one list.

        The count goes from the end, and stops once it is over `room`.
        """
        if self.meter is None:
            return 0
        if self.meter.one_by_one:
            total = 0.0
            for i in range(end - 1, start - 1, -1):
                total += self.tokens_in(held, i)
                if total > room:
                    break
            return total
        span = _PROBE
        while span < end - start:
            if (total := self.tokens_of_tail(end - span, end)) > room:
                return total
            span *= 2
        return self.meter([self.messages[i] for i in range(start, end) if i != self.system])

    def tokens_in(self, held: Cut, i: int) -> float:
        """Count the tokens of what is held of one message, the system message left out."""
        return 0 if i == self.system else self.tokens_at(held, i)

    def tokens_of_tail(self, start: int, end: int) -> float:
        """Count the tokens of what could be sent of `messages[start:end]` without the rest."""
        if self.meter is None:
            return 0
        tail = self.less_stranded(Cut(self.system, None, start), end)
        if self.meter.one_by_one:
            return sum(self.tokens_at(tail, i) for i in tail.indices(end))
        left = (tail.left(self.messages, i) for i in tail.indices(end))
        return self.meter([message for message in left if message is not None])

    def tokens_at(self, held: Cut, i: int | None) -> float:
        """Count the tokens of what is held of one message."""
        if self.meter is None or i is None:
            return 0
        if i in held.stranded:
            left = held.left(self.messages, i)
            return 0 if left is None else self.meter([left])
        if i not in self.costs:
            self.costs[i] = self.meter([self.messages[i]])
        return self.costs[i]

    def less_stranded(self, kept: Cut, end: int) -> Cut:
        """Remove the stranded answers from what is kept of `messages[:end]` (rule 6).

        An answer belongs to the nearest earlier message that made a call with its id, so only
        the calls that were made before it can be its own.
        """
        start, question = kept.start, kept.question
        unpaired = self.unpaired(start, end)
        in_question = [] if question is None else self.unpaired(question, question + 1)
        if not (unpaired or in_question):
            return kept
        stranded: dict[int, frozenset[int]] = {}
        lost = chain(self.lost(in_question, question or 0), self.lost(unpaired, start))
        for i, part in lost:
            stranded[i] = stranded.get(i, frozenset()) | {part}
        return kept._replace(stranded=stranded)

    def unpaired(self, start: int, end: int) -> list[Answer]:
        """List the answers in `messages[start:end]` to calls not made before them there.

        The walk goes back with the answers that wait for their call. Nearly all are met by the
        `tool_calls` of the next `AIMessage`; only where one is not are other calls looked for.
        """
        waiting: dict[Call, list[tuple[int, int]]] = {}
        for i in range(end - 1, start - 1, -1):
            message: Any = self.messages[i]  # its role tells what it has
            role = ROLES[type(message)]
            if role == "ai":
                if waiting:
                    for tool_call in message.tool_calls:
                        waiting.pop(tool_call["id"], None)
                if waiting:
                    for call in calls_of(message):
                        waiting.pop(call, None)
            elif role == "result" or (
                role in _ASKS and type(message.content) is not str and role_of(message) == "user"
            ):
                for part, call in answers_of(message).items():
                    waiting.setdefault(call, []).append((i, part))
        return [(i, part, call) for call, answers in waiting.items() for i, part in answers]

    def lost(self, unpaired: Sequence[Answer], before: int) -> Iterator[tuple[int, int]]:
        """Go through the answers whose call was made `before`, where nothing is kept."""
        made = self.made_before(before, {call for _, _, call in unpaired})
        for i, part, call in unpaired:
            if call in made or (self.written and self.is_asked_before(i)):
                yield i, part

    def made_before(self, end: int, calls: set[Call]) -> set[Call]:
        """Find which of `calls` were made in `messages[:end]`."""
        if self.first_made is not None:
            return {call for call in calls if self.first_made.get(call, end) < end}
        found: set[Call] = set()
        back = steps(self.messages, 0, end)
        while found < calls and (step := next(back, None)) is not None:
            found.update(calls.intersection(calls_of(self.messages[step])))
        return found

    def is_asked_before(self, i: int) -> bool:
        """Tell whether a question stands before message `i`."""
        return next(questions(self.messages, 0, i, self.starts_turn), None) is not None


_ASKS: Final = ("user", "chat")
"""Roles of messages that may answer with blocks of their content."""


def _does_not_fit(budget: Budget, messages: int, tokens: float) -> str:
    sizes = ((messages, budget.messages, "messages"), (tokens, budget.tokens, "tokens"))
    over = " and ".join(
        f"{n:,.15g} {unit} where {most:,.15g} fit" for n, most, unit in sizes if n > most
    )
    return (
        f"The newest step does not fit beside its question: {over}. Raise the budget, or choose "
        'overflow="keep" or overflow="trim".'
    )
