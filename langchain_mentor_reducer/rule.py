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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from math import inf
from typing import Final, Literal

from langchain_core.messages import AIMessage, BaseMessage

from langchain_mentor_reducer.budget import Budget, Meter
from langchain_mentor_reducer.calls import Call, answers_of, calls_of, without
from langchain_mentor_reducer.turns import (
    ROLES,
    StartsTurn,
    first_system,
    is_answer,
    is_question,
    is_system,
    questions,
    role_of,
    steps,
)

Overflow = Literal["trim", "keep", "error"]
"""What to do when the newest step does not fit beside its question."""

Stranded = dict[int, frozenset[int]]
"""The answers whose call was cut: for a message's index, which of its parts."""


@dataclass(frozen=True, slots=True)
class Cut:
    """What is kept of a history, as indices into it."""

    system: int | None = None
    """The system message, which leads."""
    question: int | None = None
    """A question before `start` that is kept without the messages between."""
    start: int = 0
    """All from here on is kept, less the stranded answers."""
    stranded: Stranded = field(default_factory=dict)
    overflowed: bool = False
    """Whether the newest step did not fit beside its question."""

    def of(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """List what is kept of `messages`: the very objects, the system message first."""
        first = [messages[i] for i in (self.system, self.question) if i is not None]
        if not self.stranded and (self.system is None or self.system < self.start):
            return first + list(messages[self.start :])
        kept = (self.left(messages, i) for i in self.indices(len(messages)))
        lead = [] if self.system is None else [messages[self.system]]
        return lead + [message for message in kept if message is not None]

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
    meter: Meter | None = None,
    overflow: Overflow = "trim",
    starts_turn: StartsTurn | None = None,
    trim_to: float = 1,
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
        meter: What counts tokens, where the budget limits them.
        overflow: What to do when the newest step does not fit beside its question.
        starts_turn: Asked about user messages that would start a turn.
        trim_to: The share of the budget to cut to, once a cut is forced.
        written: Whether `messages` is a state that earlier cuts were written to. There an
            answer behind a question whose call is missing was stranded by an earlier cut.

    Raises:
        OverBudgetError: The newest step does not fit, under `overflow="error"`.
        ValueError: The walk met a `RemoveMessage`, or the token counter failed.
    """
    reduction = _Reduction(messages, budget, meter, starts_turn, written)
    if trim_to < 1:
        return reduction.folded(trim_to, overflow)
    return reduction.strict(overflow)


class OverBudgetError(ValueError):
    """The newest step does not fit beside its question, under `overflow="error"`."""


_ANSWER: Final = ("result", "user", "chat")
"""Roles of messages that may answer."""

_PROBE: Final = 64
"""Messages from which on a list counter is first shown the end of a turn, not all of it."""


class _Reduction:
    """The rule at work on one history."""

    def __init__(
        self,
        messages: Sequence[BaseMessage],
        budget: Budget,
        meter: Meter | None,
        starts_turn: StartsTurn | None,
        written: bool,
    ) -> None:
        self.messages = messages
        self.budget = budget
        self.meter = meter
        self.starts_turn = starts_turn
        self.written = written
        self.system: int | None = None
        self.costs: dict[int, float] = {}
        """Tokens of each message that was counted by itself."""
        self.first_made: dict[Call, int] | None = None
        """Where each call was first made; known to a fold, which reads all."""

    def strict(self, overflow: Overflow) -> Cut:
        """Cut to the budget."""
        self.system = first_system(self.messages)
        return self.narrow(Cut(self.system), len(self.messages), self.budget, overflow)

    def narrow(self, held: Cut, end: int, target: Budget, overflow: Overflow) -> Cut:
        """Apply rules 4 to 6 to what is held of `messages[:end]`.

        `target` is the budget or less. A newest turn that fits the budget stays whole.
        """
        limits, start = self.budget, end
        messages, turns, tokens = 0, 0, self.tokens_at(held, self.system)
        low = self.reach(held, end, limits.messages)
        for question in questions(self.messages, low, end, self.starts_turn):
            messages += self.size(held, question, start)
            turns += 1
            tokens += self.tokens(held, question, start, limits.tokens - tokens)
            if not limits.allows(messages, turns, tokens):
                break
            start, limits = question, target
        else:
            if low == held.start:
                size = self.size(held, low, start) + (held.question is not None)
                tokens += self.tokens(held, low, start, limits.tokens - tokens)
                tokens += self.tokens_at(held, held.question)
                # A preamble that is the system message alone is no turn.
                if limits.allows(messages + size, turns + (size > 0), tokens):
                    return self.less_stranded(held, end) if self.written else held
        if start == end:
            return self.newest_turn(held, end, target, overflow)
        return self.less_stranded(Cut(self.system, None, start, held.stranded), end)

    def newest_turn(self, held: Cut, end: int, target: Budget, overflow: Overflow) -> Cut:
        """Apply rule 5: keep the question and the most recent messages that fit beside it."""
        question = next(questions(self.messages, held.start, end, self.starts_turn), None)
        low = held.start if question is None else question + 1
        if question is None:
            question = held.question
        asked = question is not None
        tokens = self.tokens_at(held, self.system)
        if question is not None:
            tokens += self.tokens_of_tail(held, question, question + 1)

        least = next(steps(self.messages, low, end), end)
        size = self.size(held, least, end) + asked
        cost = tokens + self.tokens_of_tail(held, least, end)
        overflowed = size > 0 and not self.budget.allows(size, 1, cost)
        if overflowed and overflow == "error":
            raise OverBudgetError(_over_budget(self.budget, size, cost))

        start = self.tail(held, low, end, target.messages - asked, target.tokens - tokens)
        if not overflowed or overflow == "keep":
            start = min(start, least)
        return self.less_stranded(Cut(self.system, question, start, held.stranded, overflowed), end)

    def tail(self, held: Cut, low: int, end: int, messages: float, tokens: float) -> int:
        """Find where the longest run at the end of `messages[low:end]` begins that fits."""
        start = self.reach(Cut(start=low, stranded=held.stranded), end, messages)
        while self.size(held, start, end) > messages:
            start += 1
        if tokens == inf:
            return start

        def fits(at: int) -> bool:
            return self.tokens_of_tail(held, at, end) <= tokens

        # The run is short and the history long, so feel for it from the end.
        span = 1
        while (at := max(start, end - span)) > start and fits(at):
            span *= 2
        return bisect_left(range(end), True, at, max(at, end - span // 2), key=fits)

    def reach(self, held: Cut, end: int, room: float) -> int:
        """Return how far back from `end` as many messages as there is `room` can stand."""
        if room == inf:
            return held.start
        uncounted = 1 + len(held.stranded)
        return max(held.start, min(end, end - int(room) - uncounted))

    def size(self, held: Cut, start: int, end: int) -> int:
        """Count what is held of `messages[start:end]`, the system message left out."""
        size = end - start
        if self.system is not None and start <= self.system < end:
            size -= 1
        if held.stranded:
            size -= sum(
                start <= i < end and held.left(self.messages, i) is None for i in held.stranded
            )
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
                total += self.tokens_at(held, i) if i != self.system else 0
                if total > room:
                    break
            return total
        span = _PROBE
        while span < end - start:
            if (total := self.tokens_of_tail(held, end - span, end)) > room:
                return total
            span *= 2
        return self.meter([m for i, m in enumerate(self.messages[start:end], start) if i != self.system])

    def tokens_of_tail(self, held: Cut, start: int, end: int) -> float:
        """Count what is left of `messages[start:end]` if all before it is cut."""
        if self.meter is None:
            return 0
        tail = self.less_stranded(Cut(self.system, None, start, held.stranded), end)
        if self.meter.one_by_one:
            return sum(self.tokens_at(tail, i) for i in range(start, end) if i != self.system)
        left = (tail.left(self.messages, i) for i in tail.indices(end))
        return self.meter([message for message in left if message is not None])

    def tokens_at(self, held: Cut, i: int | None) -> float:
        """Count what is held of one message."""
        if self.meter is None or i is None:
            return 0
        if i in held.stranded:
            left = held.left(self.messages, i)
            return 0 if left is None else self.meter([left])
        if i not in self.costs:
            self.costs[i] = self.meter([self.messages[i]])
        return self.costs[i]

    def less_stranded(self, kept: Cut, end: int) -> Cut:
        """Apply rule 6: of what is kept of `messages[:end]`, remove the stranded answers."""
        made: set[Call | None] = {None}
        unpaired: list[tuple[int, int, Call]] = []
        kept_messages = enumerate(self.messages[kept.start : end], kept.start)
        if kept.question is not None:
            question = (kept.question, self.messages[kept.question])
            kept_messages = chain((question,), kept_messages)
        for i, message in kept_messages:
            role = ROLES[type(message)]
            if role == "ai":
                if calls := calls_of(message):  # type: ignore[arg-type]
                    made.update(calls)
            elif role in _ANSWER and not made.issuperset(answers := answers_of(message)):
                unpaired += [
                    (i, part, call)
                    for part, call in enumerate(answers)
                    if call is not None and call not in made
                ]
        if not unpaired and not kept.stranded:
            return kept
        stranded = {
            i: parts
            for i, parts in kept.stranded.items()
            if i >= kept.start or i == kept.question
        }
        for i, part, call in unpaired:
            if self.was_cut(call, i, i if i == kept.question else kept.start):
                stranded[i] = stranded.get(i, frozenset()) | {part}
        return replace(kept, stranded=stranded)

    def was_cut(self, call: Call, answer: int, start: int) -> bool:
        """Tell whether a call that is not kept was made before `start`, and so was cut."""
        if self.written and self.asked_before(answer):
            return True
        if self.first_made is not None:
            return self.first_made.get(call, start) < start
        return any(
            call in calls_of(self.messages[step])  # type: ignore[arg-type]
            for step in steps(self.messages, 0, start)
        )

    def asked_before(self, i: int) -> bool:
        """Tell whether a question stands before message `i`."""
        return any(True for _ in questions(self.messages, 0, i, self.starts_turn))

    def folded(self, share: float, overflow: Overflow) -> Cut:
        """Cut to a share of the budget, but only where the history grew over the budget.

        The window is what a trimmer with memory would hold, found by going through the
        history from its start. It is looked at before every message that is not an answer,
        for there a model may have been called, and at the end.
        """
        target = self.budget.scaled(share)
        quiet: Overflow = "trim" if overflow == "error" else overflow
        self.first_made = {}
        last_made: dict[Call, int] = {}
        held = Cut()
        size = turns = 0
        tokens = 0.0
        for i, message in enumerate(self.messages):
            if not (is_answer(message) or self.budget.allows(size, turns, tokens)):
                held = self.narrow(held, i, target, quiet)
                size, turns, tokens = self.measure(held, i)
            if self.system is None and is_system(message):
                self.system = i
                held = replace(held, system=i)
                tokens += self.tokens_at(held, i)
                continue
            held = self.take_in(held, i, last_made)
            if held.left(self.messages, i) is not None:
                size += 1
                turns += not turns or is_question(message, self.starts_turn)
                tokens += self.tokens_at(held, i)
        if self.budget.allows(size, turns, tokens):
            return replace(held, overflowed=False)
        return self.narrow(held, len(self.messages), target, overflow)

    def take_in(self, held: Cut, i: int, last_made: dict[Call, int]) -> Cut:
        """Take message `i` in, less the parts whose call the fold has cut."""
        message = self.messages[i]
        role = role_of(message)
        if role == "ai":
            for call in calls_of(message):  # type: ignore[arg-type]
                self.first_made.setdefault(call, i)
                last_made[call] = i
        elif role == "result" or role == "user":
            parts = frozenset(
                part
                for part, call in enumerate(answers_of(message))
                if call is not None
                and last_made.get(call, -1) < held.start
                and self.was_cut(call, i, held.start)
            )
            if parts:
                return replace(held, stranded={**held.stranded, i: parts})
        return held

    def measure(self, held: Cut, end: int) -> tuple[int, int, float]:
        """Measure what is held of `messages[:end]` in messages, turns and tokens."""
        kept = [i for i in held.indices(end) if held.left(self.messages, i) is not None]
        asking = [is_question(self.messages[i], self.starts_turn) for i in kept]
        preamble = bool(asking) and not asking[0]
        tokens = sum(self.tokens_at(held, i) for i in kept)
        return len(kept), sum(asking) + preamble, self.tokens_at(held, self.system) + tokens


def _over_budget(budget: Budget, messages: int, tokens: float) -> str:
    sizes = [
        f"{size} {unit} where {unit_limit} fit"
        for size, unit, unit_limit in (
            (messages, "messages", budget.messages),
            (tokens, "tokens", budget.tokens),
        )
        if size > unit_limit
    ]
    return (
        f"The newest step does not fit beside its question: {' and '.join(sizes)}. "
        'Raise the budget, or choose overflow="keep" or overflow="trim".'
    )
