"""Counters of tokens in every form that one may be given in; each counts as `letters_of` does.

All annotations here are strings, and what `types_only` names is there for type checkers alone, as
linters advise under `from __future__ import annotations`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any, Optional

from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from tests.unit_tests.corners import letters, letters_of


def _function(name: str, parameters: str) -> Callable[..., int]:
    """Write a function that counts what its first parameter is."""
    count = letters_of if name.startswith("one") else letters
    known: dict[str, Any] = {"count": count, "Any": Any, "Optional": Optional, "Sequence": Sequence}
    known |= {kind.__name__: kind for kind in (AIMessage, BaseMessage, HumanMessage)}
    first = re.match(r"\*?\w+", parameters)
    assert first
    source = f"def {name}({parameters}) -> int:\n    return count({first[0]})"
    exec(f"from __future__ import annotations\n{source}", known)  # noqa: S102 - written above
    made: Callable[..., int] = known[name]
    return made


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

    one_of_none = staticmethod(_function("one_of_none", "message: BaseMessage"))


class CallsOne(Tokenizer):
    """An object that is called with one message."""

    __call__ = Tokenizer.one


class CallsList(Tokenizer):
    """An object that is called with a list."""

    __call__ = Tokenizer.listed


class BareModel(Tokenizer):
    """Something that counts as a model does, and is none."""

    get_num_tokens_from_messages = Tokenizer.listed


class CountingModel(FakeListChatModel):
    """A chat model that counts."""

    def get_num_tokens_from_messages(
        self, messages: list[BaseMessage], tools: Sequence[Any] | None = None
    ) -> int:
        """Count a list."""
        del tools
        return letters(messages)


def logged(count: Callable[..., int]) -> Callable[..., int]:
    """Decorate a counter, as logging or caching does."""

    @functools.wraps(count)
    def counted(*args: Any, **kwargs: Any) -> int:
        return count(*args, **kwargs)

    return counted


_ONE = _function("one", "message: BaseMessage")
_SPARE = _function("one", "message: BaseMessage, /, *_: int, per_message: int = 0")
_LISTED = _function("listed", "messages: list[BaseMessage]")
_SEQUENCE = _function("listed_as_sequence", "messages: Sequence[BaseMessage], *, extra: int = 0")

ONE: dict[str, Callable[..., int]] = {
    "function": _ONE,
    "function, further parameters": _SPARE,
    "function, one class": _function("one", "message: HumanMessage"),
    "function, two classes": _function("one", "message: AIMessage | HumanMessage"),
    "function, name for type checkers": _function("one", "message: types_only.BaseMessage"),
    "function, other name for type checkers": _function(
        "one", "message: BaseMessage, _options: types_only.ChatMessage | None = None"
    ),
    "function, decorated": logged(_ONE),
    "method": Tokenizer().one,
    "method, decorated": logged(Tokenizer().one),
    "class method": Tokenizer.one_of_class,
    "static method": Tokenizer.one_of_none,
    "callable object": CallsOne(),
    "partial": functools.partial(_SPARE, per_message=0),
    "partial of a method": functools.partial(Tokenizer().one),
    "partial of a callable object": functools.partial(CallsOne()),
}
"""Counters of one message."""

LIST: dict[str, Any] = {
    "function": _LISTED,
    "function, sequence": _SEQUENCE,
    "function, name for type checkers": _function(
        "listed", "messages: list[types_only.BaseMessage]"
    ),
    "function, optional": _function("listed", "messages: Optional[list[BaseMessage]] = None"),
    "function, no annotation": _function("listed", "messages"),
    "function, no named parameter": _function("listed", "*messages: Any"),
    "function, decorated": logged(_LISTED),
    "lambda": lambda messages, extra=0: letters(messages) + extra,
    "method": Tokenizer().listed,
    "callable object": CallsList(),
    "partial": functools.partial(_SEQUENCE, extra=0),
    "model": CountingModel(responses=["No."]),
    "like a model": BareModel(),
}
"""Counters of a list."""
