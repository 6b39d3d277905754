"""The fold: `trim_to`, a window whose start stays put from one cut to the next.

A strict rule cuts at nearly every call once a thread is full, and each cut changes the prompt
that a provider has cached. Here the history grows to the budget, is cut to a share of it, and
grows again. There is still no memory: what a trimmer with memory would hold is found by going
through the history from its start, from one overflow to the next.
"""

from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from langchain_mentor_reducer.budget import UNLIMITED, Budget
from langchain_mentor_reducer.outline import Outline
from langchain_mentor_reducer.rule import Held, History, Overflow, less_stranded, narrow
from langchain_mentor_reducer.tokens import Sums
from langchain_mentor_reducer.turns import StartsTurn
from langchain_mentor_reducer.window import Cut


def fold(
    messages: Sequence[BaseMessage],
    budget: Budget,
    share: float,
    *,
    overflow: Overflow = "trim",
    starts_turn: StartsTurn | None = None,
) -> Cut:
    """Cut to a share of the budget, but only where the history grew over the budget.

    ```python
    from langchain_core.messages import HumanMessage
    from langchain_mentor_reducer.budget import Budget
    from langchain_mentor_reducer.fold import fold

    history = [HumanMessage(f"{n}?") for n in range(1, 8)]
    starts = [fold(history[:end], Budget(messages=4), 0.5).start for end in range(1, 8)]
    assert starts == [0, 0, 0, 0, 3, 3, 3]
    ```

    It is looked at before every message that is not an answer, for there a model may have been
    called, and at the end. `overflow` warns or raises for the end alone. An answer that comes
    late, after its call was cut, is counted until the end and taken out there. The other
    arguments and the errors are those of `langchain_mentor_reducer.rule.cut`.
    """
    outline, end = Outline(messages, starts_turn), len(messages)
    tokens = Sums(messages, budget.meter, outline.system) if budget.meter else None
    history = History(messages, outline, outline.system, budget, tokens)
    target = budget.scaled(share)
    quiet: Overflow = "trim" if overflow == "error" else overflow
    held = Held(None, 0)
    at = outline.next_call(_over(history, outline, held))
    while at < end:
        question, start, _ = narrow(history, held, at, target, quiet)
        held = Held(question, outline.next_call(start))  # answers go with the call before them
        over = _over(history, outline, held)
        at = outline.next_call(over if over > at else at + 1)
    if at == end:
        held = narrow(history, held, end, target, overflow)
    return less_stranded(history, held)


def _over(history: History, outline: Outline, held: Held) -> int:
    """Find the first end up to which what is held and what follows is over the budget."""
    question, start, _ = held
    budget, system, asked = history.budget, history.system, question is not None
    over = start + budget.messages + 1 - asked
    if system is not None and start <= system < over:
        over += 1
    if budget.turns < UNLIMITED:
        over = min(over, outline.over(budget.turns, start, asked=asked))
    if isinstance(history.tokens, Sums):
        find, room = history.tokens.over, budget.tokens - history.beside(question, 0)
        by_tokens = find(start, room)
        if system is not None and system < by_tokens:
            by_tokens = max(system + 1, find(start, room - history.tokens.of_system))
        over = min(over, by_tokens)
    return over
