"""Counters of tokens in every form that one may be given in, with annotations that are strings.

Each counts as `letters_of` does. `BaseMessage` is imported for type checkers alone in one of
them, as linters advise under `from __future__ import annotations`.
"""
# ruff: noqa: TC002, TC003 - annotations are read at run time, and one of them must not be found

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Optional

from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from tests.unit_tests.corners import letters, letters_of

if TYPE_CHECKING:
    from langchain_core import messages as types_only


def one(message: BaseMessage) -> int:
    """Count one message."""
    return letters_of(message)


def one_by_position(message: BaseMessage, /, *_: int, per_message: int = 0) -> int:
    """Count one message, with parameters to spare."""
    return letters_of(message) + per_message


def one_human(message: HumanMessage) -> int:
    """Count one message of a class of its own."""
    return letters_of(message)


def one_of_two(message: AIMessage | HumanMessage) -> int:
    """Count one message of two classes."""
    return letters_of(message)


def one_for_type_checkers(message: types_only.BaseMessage) -> int:
    """Count one message, by a name that is missing at run time."""
    return letters_of(message)


def one_with_odd_options(
    message: BaseMessage, _options: types_only.ChatMessage | None = None
) -> int:
    """Count one message; another parameter has a name that is missing at run time."""
    return letters_of(message)


def listed(messages: list[BaseMessage]) -> int:
    """Count a list."""
    return letters(messages)


def listed_as_sequence(messages: Sequence[BaseMessage], *, extra: int = 0) -> int:
    """Count a sequence."""
    return letters(messages) + extra


def listed_for_type_checkers(messages: list[types_only.BaseMessage]) -> int:
    """Count a list, by a name that is missing at run time."""
    return letters(messages)


def listed_maybe(messages: Optional[list[BaseMessage]] = None) -> int:  # noqa: UP045 - as older code has it
    """Count a list that may be missing."""
    return letters(messages or [])


def listed_without_annotation(messages):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Count a list, and say nothing of it."""
    return letters(messages)


def listed_as_anything(*messages: Any) -> int:
    """Count whatever comes."""
    return sum(map(letters, messages))


class Tokenizer:
    """Counts in methods, as a tokenizer does."""

    def one(self, message: BaseMessage) -> int:
        """Count one message."""
        return letters_of(message)

    def listed(self, messages: list[BaseMessage]) -> int:
        """Count a list."""
        return letters(messages)

    @classmethod
    def one_of_class(cls, message: BaseMessage) -> int:
        """Count one message."""
        return letters_of(message)

    @staticmethod
    def one_of_none(message: BaseMessage) -> int:
        """Count one message."""
        return letters_of(message)


class CallsOne:
    """An object that is called with one message."""

    def __call__(self, message: BaseMessage) -> int:
        """Count one message."""
        return letters_of(message)


class CallsList:
    """An object that is called with a list."""

    def __call__(self, messages: list[BaseMessage]) -> int:
        """Count a list."""
        return letters(messages)


def logged(count: Callable[..., int]) -> Callable[..., int]:
    """Decorate a counter, as logging or caching does."""

    @functools.wraps(count)
    def counted(*args: Any, **kwargs: Any) -> int:
        return count(*args, **kwargs)

    return counted


class CountingModel(FakeListChatModel):
    """A chat model that counts."""

    def get_num_tokens_from_messages(
        self, messages: list[BaseMessage], tools: Sequence[Any] | None = None
    ) -> int:
        """Count a list."""
        del tools
        return letters(messages)


class BareModel:
    """Something that counts as a model does, and is none."""

    def get_num_tokens_from_messages(self, messages: list[BaseMessage]) -> int:
        """Count a list."""
        return letters(messages)


ONE: dict[str, Callable[..., int]] = {
    "function": one,
    "function, further parameters": one_by_position,
    "function, one class": one_human,
    "function, two classes": one_of_two,
    "function, name for type checkers": one_for_type_checkers,
    "function, other name for type checkers": one_with_odd_options,
    "function, decorated": logged(one),
    "method": Tokenizer().one,
    "method, decorated": logged(Tokenizer().one),
    "class method": Tokenizer.one_of_class,
    "static method": Tokenizer.one_of_none,
    "callable object": CallsOne(),
    "partial": functools.partial(one_by_position, per_message=0),
    "partial of a method": functools.partial(Tokenizer().one),
    "partial of a callable object": functools.partial(CallsOne()),
}
"""Counters of one message."""

LIST: dict[str, Any] = {
    "function": listed,
    "function, sequence": listed_as_sequence,
    "function, name for type checkers": listed_for_type_checkers,
    "function, optional": listed_maybe,
    "function, no annotation": listed_without_annotation,
    "function, no named parameter": listed_as_anything,
    "function, decorated": logged(listed),
    "lambda": lambda messages, extra=0: letters(messages) + extra,
    "method": Tokenizer().listed,
    "callable object": CallsList(),
    "partial": functools.partial(listed_as_sequence, extra=0),
    "model": CountingModel(responses=["No."]),
    "like a model": BareModel(),
}
"""Counters of a list."""
