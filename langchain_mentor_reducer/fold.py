"""The fold: `trim_to`, a window whose start stays put from one cut to the next.

A strict rule cuts at nearly every call once a thread is full, and each cut changes the
prefix that a provider has cached. Here the history may grow to the budget, is then cut to a
share of it, and may grow again. There is still no memory: what a trimmer with memory would
hold is found by going through the history from its start.
"""

from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from langchain_mentor_reducer.budget import Budget
from langchain_mentor_reducer.calls import Call, answers_of, calls_of
from langchain_mentor_reducer.rule import Cut, Overflow, Rule
from langchain_mentor_reducer.turns import StartsTurn, is_answer, is_question, is_system, role_of


def fold(
    messages: Sequence[BaseMessage],
    budget: Budget,
    share: float,
    *,
    overflow: Overflow = "trim",
    starts_turn: StartsTurn | None = None,
    written: bool = False,
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

    The window is looked at before every message that is not an answer, for there a model may
    have been called, and at the end. `overflow` warns or raises for the end alone. The other
    arguments and the errors are those of `langchain_mentor_reducer.rule.cut`.
    """
    rule = Rule(messages, budget, starts_turn=starts_turn, written=written)
    first_made: dict[Call, int] = {}
    last_made: dict[Call, int] = {}
    rule.first_made = first_made
    target = budget.scaled(share)
    held = Cut()
    size, turns, tokens = 0, 0, 0.0
    for i, message in enumerate(messages):
        if not is_answer(message) and not budget.allows(size, turns, tokens):
            quiet: Overflow = "trim" if overflow == "error" else overflow
            held = rule.apply(held, i, target, quiet)
            size, turns, tokens = _measure(rule, held, i)
        if rule.system is None and is_system(message):
            rule.system = i
            held = held._replace(system=i)
            tokens += rule.tokens_at(held, i)
            continue
        for call in calls_of(message):
            first_made.setdefault(call, i)
            last_made[call] = i
        if role_of(message) in {"result", "user"}:
            # A call that is held stands behind the start; an earlier one is gone.
            unpaired = [
                (i, part, call)
                for part, call in answers_of(message).items()
                if last_made.get(call, -1) < held.start
            ]
            late = frozenset(part for _, part in rule.lost(unpaired, held.start))
            if late:
                held = held._replace(stranded={**held.stranded, i: late})
        if held.left(messages, i) is not None:
            size += 1
            turns += turns == 0 or is_question(message, starts_turn)
            tokens += rule.tokens_at(held, i)
    if budget.allows(size, turns, tokens):
        return held._replace(overflowed=False)
    return rule.apply(held, len(messages), target, overflow)


def _measure(rule: Rule, held: Cut, end: int) -> tuple[int, int, float]:
    """Measure what is held before `end` in messages, turns and tokens."""
    kept = [i for i in held.indices(end) if held.left(rule.messages, i) is not None]
    asking = [is_question(rule.messages[i], rule.starts_turn) for i in kept]
    turns = sum(asking) + (asking[:1] == [False])  # a preamble is a turn without a question
    tokens = sum(rule.tokens_at(held, i) for i in kept)
    return len(kept), turns, rule.tokens_at(held, held.system) + tokens
