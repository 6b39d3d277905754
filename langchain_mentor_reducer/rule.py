"""The rule: which messages of a history are kept.

1. Each budget has a floor: the earliest message from which all to the end fits it.
2. The window starts at the first question at or after the highest floor.
3. Where there is none, the newest turn is over the budget by itself. Its question is kept,
   and all from the floor of what stands beside it.

The system message leads and is not counted in messages. An answer whose call lies before the
window is taken out in the end. What stands before the first question counts as a turn.

Nothing is remembered: equal histories give equal windows. What lies before the floor is not
read.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from langchain_core.messages import BaseMessage

from langchain_mentor_reducer.budget import UNLIMITED, Budget
from langchain_mentor_reducer.outline import Outline, Search
from langchain_mentor_reducer.pairs import stranded
from langchain_mentor_reducer.tokens import Sums, Tokens
from langchain_mentor_reducer.turns import StartsTurn, check, first_system
from langchain_mentor_reducer.window import Cut

Overflow = Literal["trim", "keep", "error"]
"""What to do when the newest step does not fit beside its question."""


class OverBudgetError(ValueError):
    """The newest step does not fit beside its question, under `overflow="error"`."""


def cut(
    messages: Sequence[BaseMessage],
    budget: Budget,
    *,
    overflow: Overflow = "trim",
    starts_turn: StartsTurn | None = None,
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

    Raises:
        OverBudgetError: The newest step does not fit, under `overflow="error"`.
        ValueError: A `RemoveMessage` was met, or the token counter failed.
    """
    system, end = first_system(messages), len(messages)
    tokens = Tokens(messages, budget.meter, system, starts_turn) if budget.meter else None
    history = History(messages, Search(messages, starts_turn), system, budget, tokens)
    first = 1 if system == 0 else 0
    if history.floor(first, end, budget) == first:  # all of it fits
        check(messages)
        return Cut(system)
    return less_stranded(history, narrow(history, Held(None, first), end, budget, overflow))


class Held(NamedTuple):
    """What is held of a history, the system message aside."""

    question: int | None
    """A question that is held without what stands between it and the start."""
    start: int
    """All from here on is held."""
    overflowed: bool = False
    """Whether the newest step did not fit beside its question."""


class History(NamedTuple):
    """A history, and how things are looked up in it."""

    messages: Sequence[BaseMessage]
    outline: Search | Outline
    system: int | None
    budget: Budget
    tokens: Tokens | Sums | None

    def floor(
        self, low: int, end: int, budget: Budget, question: int | None = None, *, cut: bool = False
    ) -> int:
        """Find the earliest message of `messages[low:end]` from which all fits the budget.

        Of a turn that is cut, what is left is counted, beside the question if it has one.
        """
        at = end - budget.messages + (question is not None)
        if self.system is not None and at <= self.system < end:
            at -= 1  # the system message is not counted
        if budget.turns < UNLIMITED and not cut:
            low = self.outline.turn(budget.turns, low, end)
        at = max(at, low)
        if self.tokens:
            find = self.tokens.tail if cut else self.tokens.floor
            at = find(at, end, budget.tokens - self.beside(question, end))
        return at

    def beside(self, question: int | None, end: int) -> float:
        """Return the tokens of what is kept apart: the system message and the question."""
        if not self.tokens:
            return 0
        of_system = self.tokens.of_system if self.system is not None and self.system < end else 0
        return of_system + (0 if question is None else self.tokens.of(question, question + 1))


def narrow(history: History, held: Held, end: int, target: Budget, overflow: Overflow) -> Held:
    """Cut what is held before `end`, which is over the budget, to a target: the budget or less.

    A newest turn that fits the budget stays whole, whatever the target.
    """
    outline, low = history.outline, held.start
    start = outline.first_question(history.floor(low, end, target), end)
    if start >= 0:
        return Held(None, start)
    question, budget = outline.newest_question(low, end), history.budget
    if question < 0:  # what is held is the newest turn, or the rest of it
        return newest_turn(history, held, end, target, overflow)
    if target is not budget and question >= history.floor(low, end, budget):
        return Held(None, question)
    return newest_turn(history, Held(question, question + 1), end, target, overflow)


def newest_turn(history: History, turn: Held, end: int, target: Budget, overflow: Overflow) -> Held:
    """Keep the question and the most recent that fit beside it.

    The newest step stays whole if it fits the budget, whatever the target.
    """
    question, low, _ = turn
    asked, beside = question is not None, history.beside(question, end)
    step, system, budget = history.outline.newest_step(low, end), history.system, history.budget
    size = asked + end - step - (system is not None and step < system < end)
    tokens = beside + (history.tokens.of(step, end) if history.tokens else 0)
    overflowed = size > 0 and (size > budget.messages or tokens > budget.tokens)
    if overflowed and overflow == "error":
        msg = f"The newest step does not fit beside its question: {budget.exceeded(size, tokens)}. "
        fix = 'Raise the budget, or choose overflow="keep" or overflow="trim".'
        raise OverBudgetError(msg + fix)
    start = history.floor(low, end, target, question, cut=True)
    if not overflowed or overflow == "keep":
        start = min(start, step)
    return Held(question, start, overflowed)


def less_stranded(history: History, held: Held) -> Cut:
    """Take out the answers whose call was made before the window, where nothing is kept."""
    question, start, overflowed = held
    messages = history.messages
    lost = stranded(messages, question, start, len(messages)) if start else {}
    return Cut(history.system, question, start, lost, overflowed)
