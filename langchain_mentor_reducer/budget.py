"""Budgets: how large a window may be, and how its tokens are counted.

A window is measured in messages, turns and tokens. Which parts of it are counted together
is the rule's business; each is a list that could be sent.
"""

import functools
import inspect
import math
import sys
import types
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, Protocol, runtime_checkable

from langchain_core.messages import BaseMessage
from langchain_core.messages.utils import count_tokens_approximately


@runtime_checkable
class CountsTokens(Protocol):
    """A model, as far as counting goes."""

    def get_num_tokens_from_messages(self, messages: list[BaseMessage]) -> int:
        """Count the tokens of a list of messages."""
        ...


TokenCounter = (
    Literal["approximate"]
    | Callable[[list[BaseMessage]], int]
    | Callable[[BaseMessage], int]
    | CountsTokens
)
"""What counts tokens, as `trim_messages` takes it."""


@dataclass(frozen=True, slots=True)
class Meter:
    """Counts tokens with what the user gave, and says so when that fails.

    Raises:
        ValueError: The counter raised, or returned no number.
    """

    count: Callable[[Any], Any]
    name: str
    one_by_one: bool
    """Whether a list costs the sum of its messages."""
    takes_lists: bool = True
    """Whether it is given a list, or one message."""

    def __call__(self, messages: Sequence[BaseMessage]) -> float:
        """Count the tokens of `messages`."""
        if not messages:
            return 0
        if self.takes_lists:
            return self._count(list(messages))
        return sum(map(self._count, messages))

    def one(self, message: BaseMessage) -> float:
        """Count the tokens of one message."""
        return self._count([message] if self.takes_lists else message)

    def _count(self, counted: object) -> float:
        try:
            tokens = self.count(counted)
        except Exception as error:
            msg = f"token_counter {self.name} raised {type(error).__name__}: {error}"
            raise ValueError(msg) from error
        if type(tokens) is int and tokens >= 0:  # nearly always, and quick to see
            return tokens
        if isinstance(tokens, bool) or not isinstance(tokens, (int, float)) or not tokens >= 0:
            msg = f"token_counter {self.name} must return a number of tokens, got {tokens!r}."
            raise ValueError(msg)
        return tokens


APPROXIMATE: Final = Meter(count_tokens_approximately, "'approximate'", one_by_one=True)


def meter(token_counter: TokenCounter) -> Meter:
    """Make a `Meter` of what `trim_messages` takes as its `token_counter`.

    A callable counts one message if its first parameter is annotated as a message, and a
    list otherwise. The annotation may be a string, as `from __future__ import annotations`
    makes it.

    Raises:
        ValueError: It is nothing that counts.
    """
    if token_counter == "approximate":
        return APPROXIMATE
    named = token_counter.func if isinstance(token_counter, functools.partial) else token_counter
    name = getattr(named, "__name__", type(named).__name__)
    if isinstance(token_counter, CountsTokens):
        return Meter(token_counter.get_num_tokens_from_messages, name, one_by_one=False)
    if callable(token_counter):
        one = _takes_one_message(token_counter)
        return Meter(token_counter, name, one_by_one=one, takes_lists=not one)
    msg = (
        "token_counter must be 'approximate', a callable on a list of messages or on one "
        f"message, or a model with get_num_tokens_from_messages; got {token_counter!r}."
    )
    raise ValueError(msg)


def _takes_one_message(counter: Callable[..., Any]) -> bool:
    try:
        first = next(iter(inspect.signature(counter, eval_str=True).parameters.values()), None)
    except NameError:  # an annotation that only type checkers can follow
        first = next(iter(inspect.signature(counter).parameters.values()), None)
        return first is not None and str(first.annotation).endswith("Message")
    except (TypeError, ValueError):  # some builtins have no signature
        return False
    annotation = first.annotation if first else None
    union = typing.get_origin(annotation) in {typing.Union, types.UnionType}
    return all(
        isinstance(kind, type) and issubclass(kind, BaseMessage)
        for kind in (typing.get_args(annotation) if union else [annotation])
    )


UNLIMITED: Final = sys.maxsize
"""More messages or turns than there can be."""


class Budget(NamedTuple):
    """The most that a window may hold."""

    messages: int = UNLIMITED
    """Messages, the system message not counted."""
    turns: int = UNLIMITED
    tokens: float = math.inf
    """Tokens of all that is returned, the system message too."""
    meter: Meter | None = None
    """What counts the tokens, where they are limited."""

    def exceeded(self, messages: int, tokens: float) -> str:
        """Say which limits a window of one turn is over and by how much, or nothing."""
        sizes = ((messages, self.messages, "messages"), (tokens, self.tokens, "tokens"))
        return " and ".join(
            f"{n:,.15g} {unit} where {most:,.15g} fit" for n, most, unit in sizes if n > most
        )

    def scaled(self, share: float) -> "Budget":
        """Return the low-water mark: every budget times `share`, and at least 1."""

        def scale(limit: float) -> int:
            # The addend keeps 50 * 0.58 from becoming 28, which is 29 to everyone but a float.
            return UNLIMITED if limit >= UNLIMITED else max(1, math.floor(limit * share + 1e-9))

        return Budget(scale(self.messages), scale(self.turns), scale(self.tokens), self.meter)
