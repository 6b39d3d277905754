"""What a prompt cache sees: `python -m tests.benchmarks.cache [--write]`.

Conversations are replayed call by call: before each message of the model, the history so far is
reduced and sent. The cache is an exact-prefix one: of each call, what is cached is the longest run
of messages that it has in common with the call before, from the first message on.
"""

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.messages.utils import count_tokens_approximately

from langchain_mentor_reducer import MentorChatReducer
from tests.acceptance import corpus, rivals
from tests.benchmarks.versions import versions
from tests.tables import DOCS, table, write

History = list[BaseMessage]
Reduce = Callable[[History], Sequence[BaseMessage]]

BUDGETS = (30, 50)
LONG = 40
"""Messages from which on a conversation is replayed: shorter ones are hardly cut."""
PRICE = 0.1
"""What a cached token costs, where one that is not cached costs 1."""


@dataclass
class Spent:
    """What all calls took together."""

    calls: int = 0
    tokens: int = 0
    cached: int = 0
    lost: int = 0
    """Calls that were sent without the newest question: cheap, and useless."""

    @property
    def uncached(self) -> int:
        """Tokens that were read anew."""
        return self.tokens - self.cached

    @property
    def cost(self) -> float:
        """The price, in tokens that are not cached."""
        return self.uncached + PRICE * self.cached


def called_at(history: Sequence[BaseMessage]) -> list[int]:
    """List the lengths of the prefixes at which a model was called."""
    return [
        n
        for n, message in enumerate(history)
        if isinstance(message, AIMessage)
        and any(not isinstance(earlier, SystemMessage) for earlier in history[:n])
    ]


def replay(conversations: Iterable[History], reduce: Reduce) -> Spent:
    """Send every call of every conversation, and count what is sent and what is cached.

    Messages are known by their ids: `trim_messages` hands out copies.
    """
    spent = Spent()
    for history in conversations:
        sizes = {message.id: count_tokens_approximately([message]) for message in history}
        before: list[str | None] = []
        for end in called_at(history):
            sent = [message.id for message in reduce(history[:end])]
            common = next(
                (n for n, (a, b) in enumerate(zip(before, sent, strict=False)) if a != b),
                min(len(before), len(sent)),
            )
            spent.calls += 1
            spent.tokens += sum(sizes[id_] for id_ in sent)
            spent.cached += sum(sizes[id_] for id_ in sent[:common])
            asked = [m.id for m in history[:end] if isinstance(m, HumanMessage)]
            spent.lost += asked != [] and asked[-1] not in sent
            before = sent
    return spent


def reducers(budget: int) -> dict[str, Reduce]:
    """List what is compared at a budget."""
    return {
        "`trim_messages`, as documented": partial(rivals.documented, budget=budget),
        "the strict rule": MentorChatReducer(budget).reduce,
        **{
            f"`trim_to={share}`": MentorChatReducer(budget, trim_to=share).reduce
            for share in (0.8, 0.6, 0.4)
        },
    }


def rows(
    conversations: Sequence[History], budgets: Sequence[int] = BUDGETS
) -> list[tuple[str, str, Spent]]:
    """Replay with everything that is compared: budget, name and what was spent."""
    return [
        ("-", "no trimming", replay(conversations, lambda history: history)),
        *(
            (f"{budget} messages", name, replay(conversations, reduce))
            for budget in budgets
            for name, reduce in reducers(budget).items()
        ),
    ]


def markdown(conversations: Sequence[History], measured: Sequence[tuple[str, str, Spent]]) -> str:
    """Lay out what was spent."""
    whole = measured[0][2]
    lengths = [len(history) for history in conversations]
    head = ["budget", "", "tokens a call", "cached", "uncached tokens a call", "cost"]
    cells = [
        [
            budget,
            name,
            f"{spent.tokens / spent.calls:,.0f}",
            f"{spent.cached / spent.tokens:.1%}",
            f"{spent.uncached / spent.calls:,.0f}",
            f"{100 * spent.cost / whole.cost:,.0f}",
            f"{spent.lost / spent.calls:.1%}",
        ]
        for budget, name, spent in measured
    ]
    return (
        f"{len(conversations)} conversations of {min(lengths)} to {max(lengths)} messages "
        f"({corpus.source()}), replayed call by call: {whole.calls:,} calls. Tokens are "
        f"approximate. The cost counts a cached token as {PRICE} of one that is not, and no "
        f"trimming as 100.\n\n{table([*head, 'calls without their question'], cells, left=2)}"
    )


def conversations() -> list[History]:
    """The long conversations, or what the project keeps of their shapes."""
    return [history for history in corpus.conversations() if len(history) >= LONG]


def main(arguments: list[str] | None = None) -> None:
    """Replay, print the table, and write it where asked to."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.cache", description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/")
    options = parser.parse_args(arguments)
    replayed = conversations()
    text = markdown(replayed, rows(replayed))
    print(text)
    print(f"\nWith {versions()}.")
    if options.write:
        write("cache", text, DOCS / "cache.md")


if __name__ == "__main__":
    main()
