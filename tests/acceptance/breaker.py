"""The breaker: what happens to threads, at every place, and what each repair makes of it.

A validator has a say about a broken history if it accepts the unbroken one.
"""

import random
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any, cast

from deepagents.middleware.patch_tool_calls import PatchToolCallsMiddleware
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
    merge_message_runs,
    trim_messages,
)

from langchain_mentor_reducer import mend_messages, reduce_messages
from tests.acceptance import corpus, generated
from tests.acceptance.validators import VALIDATORS
from tests.tables import table

History = list[BaseMessage]
BUDGET = 12


def _move(history: History, i: int, to: int) -> History | None:
    rest = history[:i] + history[i + 1 :]
    return [*rest[:to], history[i], *rest[to:]] if 0 <= to <= len(rest) else None


def _is_result(history: History, i: int) -> bool:
    return isinstance(history[i], ToolMessage)


def _calls(history: History, i: int) -> bool:
    message = history[i]
    return isinstance(message, AIMessage) and bool(message.tool_calls)


def _before_call(history: History, i: int) -> History | None:
    made = next((j for j in range(i - 1, -1, -1) if _calls(history, j)), 0)
    return _move(history, i, made)


def _again(history: History, i: int) -> History:
    copy = history[i].model_copy(update={"id": "again"})
    return [*history[: i + 1], copy, *history[i + 1 :]]


def _aborted(history: History, i: int) -> History:
    copy = history[i].model_copy(update={"id": "again"})
    asked = HumanMessage("Are you there? Once more, please.", id="asked")
    return [*history[: i + 1], asked, copy, *history[i + 1 :]]


Breakage = tuple[Callable[[History, int], bool], Callable[[History, int], History | None]]
BREAKAGES: dict[str, Breakage] = {
    "lost result": (_is_result, lambda h, i: h[:i] + h[i + 1 :]),
    "lost call": (_calls, lambda h, i: h[:i] + h[i + 1 :]),
    "double result": (_is_result, _again),
    "late result": (_is_result, lambda h, i: _move(h, i, i + 2)),
    "user cuts in": (
        _calls,
        lambda h, i: [*h[: i + 1], HumanMessage("Wait.", id="w"), *h[i + 1 :]],
    ),
    "aborted and asked again": (_calls, _aborted),
    "empty answer in between": (
        _calls,
        lambda h, i: [*h[: i + 1], AIMessage("", id="e"), *h[i + 1 :]],
    ),
    # A slice that leaves whole steps is a beginning that stays.
    "sliced": (_is_result, lambda h, i: h[i:]),
    "result before its call": (_is_result, _before_call),
    "call sent twice": (_calls, _again),
}


def broken(history: History, at_once: int, random_: random.Random) -> Iterator[History]:
    """Break a history in each way, at every place; more breakages at once are drawn."""
    for applies, change in BREAKAGES.values():
        for i in range(len(history)):
            after = change(history, i) if applies(history, i) else None
            for _ in range(at_once - 1):
                if after:
                    after = _once_more(after, random_)
            if after and any(isinstance(m, HumanMessage) for m in after):
                yield after


def _once_more(history: History, random_: random.Random) -> History | None:
    applies, change = random_.choice(list(BREAKAGES.values()))
    places = [i for i in range(len(history)) if applies(history, i)]
    return change(history, random_.choice(places)) if places else history


def patched(history: History) -> History:
    """What deepagents' middleware leaves in the state."""
    update = PatchToolCallsMiddleware().before_agent(
        cast("Any", {"messages": history}), cast("Any", None)
    )
    messages = update["messages"] if update else history
    messages = getattr(messages, "value", messages)
    return [message for message in messages if not isinstance(message, RemoveMessage)]


def trimmed(history: History) -> History:
    """`trim_messages` as its documentation calls it."""
    return trim_messages(
        history,
        strategy="last",
        token_counter=len,
        max_tokens=BUDGET,
        start_on="human",
        end_on=("human", "tool"),
        include_system=True,
    )


def mended(history: History) -> History:
    """This package, where a model is about to be called."""
    return mend_messages(history, answer_last=True)


def mended_and_reduced(history: History) -> History:
    """This package, with a budget."""
    return reduce_messages(history, max_messages=BUDGET, mend=True)


REPAIRS: dict[str, Callable[[History], History]] = {
    "as they came": list,
    "`reduce_messages` alone": lambda h: reduce_messages(h, max_messages=BUDGET),
    "deepagents' `PatchToolCallsMiddleware`": patched,
    "`trim_messages`": trimmed,
    "`trim_messages`, then deepagents' patch": lambda h: patched(trimmed(h)),
    "`mend_messages`": mended,
    "`mend_messages`, then `merge_message_runs`": lambda h: merge_message_runs(mended(h)),
    "mended and reduced": mended_and_reduced,
    "mended and reduced, then `merge_message_runs`": lambda h: merge_message_runs(
        mended_and_reduced(h)
    ),
}


def _model_first(after: History) -> bool:
    said = [message for message in after if message.type != "system"]
    return bool(said) and isinstance(said[0], AIMessage)


def _model_last(after: History) -> bool:
    last = after[-1] if after else None
    return isinstance(last, AIMessage) and not last.tool_calls


def _id_twice(after: History) -> bool:
    made = [call["id"] for m in after if isinstance(m, AIMessage) for call in m.tool_calls]
    return len(made) > len(set(made))


def _one_role_twice(after: History) -> bool:
    """Tell whether questions or answers meet with nothing or only calls between."""
    said = [
        type(message)
        for message in after
        if isinstance(message, HumanMessage)
        or (isinstance(message, AIMessage) and not message.tool_calls)
    ]
    return any(one is next_ for one, next_ in pairwise(said))


Corner = tuple[Callable[[History], bool], dict[str, str]]
CORNERS: dict[str, Corner] = {
    "whole steps before the first question": (
        _model_first,
        {
            "Mistral, tokenizer v3": "Not the same number of function calls and responses",
            "Mistral, tokenizer v13": "Unexpected tool call id",
            "Mistral, template v13": "must start with a user or system message",
            "Ministral-3-14B, template": "roles must alternate",
            "Gemini": "a function call without a user turn before it",
            "Bedrock Converse": "the first message is not the user's",
            "Perplexity": "the first message is not the user's",
        },
    ),
    "the model's own words last": (
        _model_last,
        {
            "Mistral, tokenizer v3": "Expected last role User or Tool",
            "Mistral, tokenizer v13": "Expected last role User or Tool",
            "Bedrock Converse": "the last message is not the user's",
            "Mistral": "the last message is of assistant",
        },
    ),
    "a call and its result came twice": (
        _id_twice,
        {
            "Anthropic, by turnsafe": "duplicate_tool_call_id",
            "Cohere Command, renderer": "duplicate tool call id",
        },
    ),
    "Ministral: one role twice, nothing or only calls between": (
        _one_role_twice,
        {"Ministral-3-14B, template": "roles must alternate"},
    ),
}
"""What no repair of a history's order can help: who refuses it, and in which words."""


def corner_of(who: str, after: History, reason: str) -> str | None:
    """Name the corner that this refusal is about; counted apart for every repair."""
    return next(
        (
            corner
            for corner, (holds, words) in CORNERS.items()
            if who in words and words[who] in reason and holds(after)
        ),
        None,
    )


class Breakages:
    """How many broken histories each validator refuses after each repair."""

    def __init__(self) -> None:
        """Start with none."""
        self.tried = 0
        self.refused: Counter[str] = Counter()
        self.cornered: dict[str, Counter[str]] = {name: Counter() for name in REPAIRS}
        self.refused_by: dict[str, Counter[str]] = {name: Counter() for name in REPAIRS}
        self.examples: dict[tuple[str, str], tuple[History, History, str]] = {}

    def judge(self, histories: Iterable[History], *, most: int) -> None:
        """Break each history, at `most` places drawn from all, and let each repair try."""
        random_ = random.Random(7)
        for history in histories:
            accepting = [v for v in VALIDATORS if v.refuses(history) is None]
            for at_once in (1, 2, 3):
                every = list(broken(history, at_once, random_))
                for before in random_.sample(every, min(most, len(every))):
                    self.tried += 1
                    for name, repair in REPAIRS.items():
                        after = repair(before)
                        by: dict[str, str] = {}
                        for v in accepting:
                            if reason := v.refuses(after):
                                if corner := corner_of(v.name, after, reason):
                                    self.cornered[name][corner] += 1
                                else:
                                    by[v.name] = reason
                        self.refused[name] += bool(by)
                        self.refused_by[name].update(by.keys())
                        for who, why in by.items():
                            self.examples.setdefault((name, who), (before, after, why))

    def markdown(self) -> str:
        """The table of the breakages, with the refusals that are counted apart."""
        rows = [
            [
                name,
                f"{self.refused[name] / self.tried:.1%}",
                f"{self.refused[name]:,}",
                ", ".join(f"{who} {n:,}" for who, n in self.refused_by[name].most_common(4)),
                *(f"{self.cornered[name][corner]:,}" for corner in CORNERS),
            ]
            for name in REPAIRS
        ]
        apart = [f"apart: {corner}" for corner in CORNERS]
        head = ["repair", f"of {self.tried:,} refused", "refused", "most often by", *apart]
        return table(head, rows)


def run(*, full: bool) -> Breakages:
    """Break real conversations, or the shapes that ship, and generated ones."""
    result = Breakages()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        real = [h for h in corpus.conversations(every=4 if full else 24) if len(h) <= 60]
        for whole in (real, corpus.known(), generated.histories(300 if full else 30)):
            points = [corpus.model_calls(h, at_most=2)[-1:] for h in whole]
            histories = [p for point in points for p in point]
            result.judge(histories, most=10**6 if full else 4)
    return result
