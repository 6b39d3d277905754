"""The run: histories go through reducers, and what goes in and comes out through the validators.

Only a validator that accepts the input has a say about the output. Nothing else is left out.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from langchain_core.messages import HumanMessage

from langchain_mentor_reducer import reduce_messages
from tests.acceptance.corners import corner_of
from tests.acceptance.corpus import History, model_calls
from tests.acceptance.rivals import RIVALS, Reducer, ours
from tests.acceptance.shapes import shape_of
from tests.acceptance.validators import VALIDATORS, Validator
from tests.acceptance.wire import same

BUDGETS = (1, 2, 3, 5, 8, 13, 21, 34)
OPTIONS: tuple[dict[str, Any], ...] = (
    *({"max_messages": budget} for budget in BUDGETS),
    {"max_turns": 1},
    {"max_turns": 3},
    {"max_tokens": 100},
    {"max_tokens": 1000},
    {"max_messages": 2, "overflow": "keep"},
    {"max_messages": 10, "trim_to": 0.6},
    {"max_messages": 20, "trim_to": 0.4},
)


class Refusal(NamedTuple):
    """An output that a validator refuses, although it accepts the input."""

    validator: str
    reason: str
    options: dict[str, Any]
    before: str
    after: str

    def __str__(self) -> str:
        """Everything that is needed to see it again."""
        return f"{self.validator}: {self.reason}\n  {self.options}\n  {self.before}\n  {self.after}"


@dataclass
class Verdicts:
    """What one validator said."""

    inputs: int = 0
    inputs_accepted: int = 0
    outputs_accepted: int = 0
    cornered: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Refused outputs by the corner they stand in and the source of their history."""
    refused: list[Refusal] = field(default_factory=list)


@dataclass
class Losses:
    """What became of the reductions of one reducer."""

    reductions: int = 0
    refused: int = 0
    question_lost: int = 0


class Tally:
    """What all validators said of all histories."""

    def __init__(self) -> None:
        """Start with nothing said."""
        self.histories: Counter[str] = Counter()
        self.model_calls = 0
        self.reductions = 0
        self.compared = 0
        self.verdicts: dict[str, Verdicts] = {v.name: Verdicts() for v in VALIDATORS}
        self.losses: dict[str, Losses] = defaultdict(Losses)

    @property
    def refused(self) -> list[Refusal]:
        """Every output refused, whoever refused it."""
        return [refusal for verdicts in self.verdicts.values() for refusal in verdicts.refused]

    def judge(self, source: str, histories: Iterable[History], *, points: int) -> None:
        """Reduce each history at so many of its model calls, with every option."""
        for history in histories:
            self.histories[source] += 1
            for before in model_calls(history, at_most=points):
                self.model_calls += 1
                self._judge_at(source, before)

    def _judge_at(self, source: str, before: History) -> None:
        accepting = []
        for validator in VALIDATORS:
            verdicts = self.verdicts[validator.name]
            verdicts.inputs += 1
            if validator.refuses(before) is None:
                verdicts.inputs_accepted += 1
                accepting.append(validator)
        seen: list[History] = [before]
        for options in OPTIONS:
            after = reduce_messages(before, **options)
            if any(same(after, other) for other in seen):
                continue
            seen.append(after)
            self.reductions += 1
            for validator in accepting:
                verdicts = self.verdicts[validator.name]
                reason = validator.refuses(after)
                if reason is None:
                    verdicts.outputs_accepted += 1
                elif corner := corner_of(validator.name, before, after):
                    verdicts.cornered[corner.name, source] += 1
                else:
                    shapes = shape_of(before), shape_of(after)
                    verdicts.refused.append(Refusal(validator.name, reason, options, *shapes))

    def compare(self, histories: Iterable[History], *, points: int) -> None:
        """Let the other reducers do the same, and ourselves beside them."""
        for history in histories:
            for before in model_calls(history, at_most=points):
                self.compared += 1
                accepting = [v for v in VALIDATORS if v.refuses(before) is None]
                for name, reducer in {**RIVALS, "this package": ours}.items():
                    self._compare_at(name, reducer, before, accepting)

    def _compare_at(
        self, name: str, reducer: Reducer, before: History, accepting: Sequence[Validator]
    ) -> None:
        losses = self.losses[name]
        question = next((m for m in reversed(before) if isinstance(m, HumanMessage)), None)
        for budget in BUDGETS:
            after = reducer(before, budget)
            if not accepting or same(before, after):
                continue
            losses.reductions += 1
            losses.refused += any(_refuses(v, before, after) for v in accepting)
            losses.question_lost += question is not None and all(
                message.id != question.id for message in after
            )


def _refuses(validator: Validator, before: History, after: History) -> bool:
    return validator.refuses(after) is not None and not corner_of(validator.name, before, after)
