"""What a window still knows: `python -m tests.benchmarks.facts [--write]`.

A fact is an id or a number: a word of three characters or more with a digit in it. At each model
call whose history is over the budget, the facts are those of the model's next message, its text
and the arguments of its calls, that had stood in the history before. Measured is the share of them
that still stands in the window. The system message is left out: everything compared here keeps it.

`facts.json` says of the shapes in `shapes.json` where such a fact stood, in positions, for a run
without the conversations. `--derive` writes it anew from them.
"""

import argparse
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    SystemMessage,
    convert_to_openai_messages,
)
from langchain_core.messages.utils import count_tokens_approximately

from langchain_mentor_reducer import MentorChatReducer
from tests.acceptance import corpus, providers, rivals, shapes
from tests.benchmarks.cache import History, Reduce, called_at
from tests.benchmarks.versions import versions
from tests.tables import DOCS, table, write

BUDGETS = (10, 20, 30)
AT_MOST = 5_000
"""Model calls that are looked at: of more, so many are drawn by a seed."""
PAGE = DOCS / "facts.md"
FACTS = Path(__file__).with_name("facts.json")
WORD = re.compile(r"\w+(?:[-.]\w+)*")

Judge = Callable[[Any], Iterator[str]]
PAIRING: Judge = providers.openai_chat
JUDGES: tuple[Judge, ...] = (PAIRING, providers.mistral, providers.perplexity)
JUDGED_BY = (
    "our own reading of what OpenAI Chat (each call with its results right behind it), Mistral "
    "(who may follow whom) or Perplexity (a user's message first) asks for; each has a say where "
    "it accepts the whole history"
)


@dataclass
class Kept:
    """What one reducer kept over all calls."""

    calls: int = 0
    used: int = 0
    kept: int = 0
    tokens: int = 0
    refused: int = 0
    unpaired: int = 0
    """Calls refused for pairing alone."""


def facts(message: BaseMessage) -> set[str]:
    """The ids and numbers in a message: in its text and in the arguments of its calls."""
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    texts = [message.text, *(text for call in calls for text in _texts(call["args"]))]
    words = (word for text in texts for word in WORD.findall(text))
    return {word for word in words if len(word) > 2 and re.search(r"\d", word)}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)
    else:
        yield str(value)


def stood(history: Sequence[BaseMessage]) -> list[set[str]]:
    """The facts of each message, those of system messages left out wherever they stand."""
    known = {f for m in history if isinstance(m, SystemMessage) for f in facts(m)}
    return [facts(message) - known for message in history]


def accepting(messages: Sequence[BaseMessage], judges: Sequence[Judge] = JUDGES) -> list[Judge]:
    """Those of the judges that have nothing to say against the messages."""
    wire = convert_to_openai_messages(messages)
    return [judge for judge in judges if next(judge(wire), None) is None]


def reducers(budget: int) -> dict[str, Reduce]:
    """List what is compared at a budget."""
    return {
        "the system message and the last N": partial(rivals.sliced, budget=budget),
        "`trim_messages`, as documented": partial(rivals.trimmed, budget=budget, start_on="human"),
        "the rule of `MessageCountingChatReducer`": partial(rivals.message_counting, budget=budget),
        "**this package**": MentorChatReducer(budget).reduce,
        "**this package**, `trim_to=0.6`": MentorChatReducer(budget, trim_to=0.6).reduce,
    }


def measure(
    conversations: Sequence[History], budgets: Sequence[int] = BUDGETS, at_most: int = AT_MOST
) -> dict[tuple[int, str], Kept]:
    """Reduce before each model call that is over a budget, and count what is kept."""
    named = [stood(history) for history in conversations]
    calls = [
        (history[:end], named[n][: end + 1])
        for n, history in enumerate(conversations)
        for end in called_at(history)
        if _length(history[:end]) > min(budgets)
    ]
    if len(calls) > at_most:
        calls = random.Random(17).sample(calls, at_most)
    compared = {(budget, name): r for budget in budgets for name, r in reducers(budget).items()}
    measured = {key: Kept() for key in compared}
    for before, (*earlier, following) in calls:
        used = following & set().union(*earlier)
        judges = accepting(before)
        for (budget, name), reduce in compared.items():
            if _length(before) <= budget:
                continue
            window = reduce(before)
            left = {message.id for message in window}
            still = set().union(*(f for f, m in zip(earlier, before, strict=True) if m.id in left))
            refusing = set(judges).difference(accepting(window, judges))
            row = measured[budget, name]
            row.calls += 1
            row.used += len(used)
            row.kept += len(used & still)
            row.tokens += count_tokens_approximately(window)
            row.refused += bool(refusing)
            row.unpaired += PAIRING in refusing
    return measured


def _length(history: Sequence[BaseMessage]) -> int:
    return len(history) - isinstance(history[0], SystemMessage)


def markdown(conversations: Sequence[History], measured: Mapping[tuple[int, str], Kept]) -> str:
    """Lay out what was kept."""
    sizes = {budget: (row.calls, row.used) for (budget, _), row in measured.items()}
    over = "; ".join(f"over {b} messages: {c:,} calls, {u:,} facts" for b, (c, u) in sizes.items())
    head = ["budget", "", "facts kept", "tokens a call", "refused", "refused by OpenAI Chat"]
    cells = [
        [
            f"{budget} messages",
            name,
            f"{row.kept / row.used:.1%}",
            f"{row.tokens / row.calls:,.0f}",
            f"{row.refused / row.calls:.1%}",
            f"{row.unpaired / row.calls:.1%}",
        ]
        for (budget, name), row in measured.items()
    ]
    return (
        f"{len(conversations):,} conversations ({corpus.source()}); {over}. Tokens are "
        f"approximate. Refused by {JUDGED_BY}.\n\n{table(head, cells, left=2)}"
    )


def conversations() -> list[History]:
    """The real conversations, or their shapes with a made-up fact wherever a real one stood."""
    histories = corpus.conversations()
    if not corpus.TRAJECTORIES.exists():
        kept = json.loads(FACTS.read_text(encoding="utf-8"))
        for history, places in zip(histories, kept, strict=True):
            for number, positions in enumerate(places):
                for position in positions:
                    history[position].content += f" fact-{number}"
    return histories


def recurring(history: History) -> list[list[int]]:
    """Where each fact stands that the model used again, up to the last time it did."""
    named = stood(history)
    found = []
    for fact in set().union(*named):
        places = [n for n, those in enumerate(named) if fact in those]
        uses = [n for n in called_at(history) if n in places[1:]]
        found += [[n for n in places if n <= uses[-1]]] if uses else []
    return sorted(found)


def derive() -> None:
    """Write where facts recur in the conversations whose shapes are kept."""
    first: dict[str, History] = {}
    for history in corpus.trajectories():
        first.setdefault(shapes.shape_of(history), history)
    lines = [json.dumps(recurring(first[shape])) for shape in shapes.kept()]
    FACTS.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def main(arguments: list[str] | None = None) -> None:
    """Measure, print the table, and write it where asked to."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.facts", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    parser.add_argument("--derive", action="store_true", help=f"write {FACTS.name} anew first")
    options = parser.parse_args(arguments)
    if options.derive:
        derive()
    replayed = conversations()
    text = markdown(replayed, measure(replayed))
    print(text)
    print(f"\nWith {versions()}.")
    if options.write:
        write("facts", text, PAGE)


if __name__ == "__main__":
    main()
