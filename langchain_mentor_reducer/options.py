"""The options, once: what each means, how it is checked, how the faces take them.

Every face takes `max_messages` and the keywords of `Options`, and checks them when it is
built. `ReducerOptions` holds them for the faces that are pydantic models.
"""

import difflib
import logging
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Annotated, Any, Self, TypedDict, cast

from langchain_core.messages import (
    BaseMessage,
    MessageLikeRepresentation,
    convert_to_messages,
)
from langchain_core.prompt_values import PromptValue
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    WithJsonSchema,
    model_validator,
)

from langchain_mentor_reducer.budget import UNLIMITED, Budget, TokenCounter, meter
from langchain_mentor_reducer.fold import fold
from langchain_mentor_reducer.mend import Mended, mend
from langchain_mentor_reducer.rule import Overflow, cut
from langchain_mentor_reducer.turns import NotAMessageError, StartsTurn
from langchain_mentor_reducer.window import Cut

logger = logging.getLogger(__name__)

MessagesInput = Sequence[MessageLikeRepresentation] | PromptValue
"""What a history may be given as; message-likes are converted as `trim_messages` does."""


Repair = tuple[Mended, Cut]
"""A window that was mended, and what is kept of it."""


class Options(TypedDict, total=False):
    """The options that every face takes by keyword, beside `max_messages`."""

    max_turns: int | None
    max_tokens: int | None
    token_counter: TokenCounter
    overflow: Overflow
    starts_turn: StartsTurn | None
    trim_to: float
    mend: bool


def _count(value: object) -> object:
    if value is not None and (type(value) is not int or value < 1):
        msg = (
            f"must be a whole number of at least 1, such as 50, or None to set none; got {value!r}"
        )
        raise ValueError(msg)
    return value


def _share(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 1:
        msg = f"must be a share of the budget, over 0 and at most 1, such as 0.6; got {value!r}"
        raise ValueError(msg)
    return value


def _counter(value: Any) -> Any:
    meter(value)
    return value


Limit = Annotated[int | None, BeforeValidator(_count)]


class ReducerOptions(BaseModel):
    """How much of a history is kept, and how it is counted."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    max_messages: Limit = None
    """The most messages to keep, the system message not counted."""

    max_turns: Limit = None
    """The most turns to keep. The preamble before the first question counts as one."""

    max_tokens: Limit = None
    """The most tokens to keep, the system message counted."""

    token_counter: Annotated[
        Any,
        BeforeValidator(_counter),
        WithJsonSchema({"const": "approximate", "title": "Token Counter"}),
    ] = "approximate"
    """What counts tokens: `"approximate"`, a callable on a list of messages or on one message,
    or a model."""

    overflow: Overflow = "trim"
    """What to do when the newest step does not fit beside its question: `"trim"` leaves what
    fits, in most cases the question alone; `"keep"` keeps the step whole, over the budget;
    `"error"` raises."""

    starts_turn: Annotated[
        StartsTurn | None,
        WithJsonSchema({"type": "null", "title": "Starts Turn"}),
    ] = None
    """Asked about user messages that would start a turn; False keeps one in its turn."""

    trim_to: Annotated[float, BeforeValidator(_share)] = Field(default=1)
    """The share of the budget to cut to, once a cut is forced. Less than 1 keeps the window's
    start where it is from one cut to the next, for the provider's prompt cache."""

    mend: StrictBool = False
    """Whether to mend what is kept, where the history arrived broken."""

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, given: Any) -> Any:
        if unknown := given.keys() - cls.model_fields.keys():
            name = min(unknown)
            names = [option for option in cls.model_fields if option != "name"]
            close = difflib.get_close_matches(name, names, 1)
            hint = f"did you mean {close[0]}?" if close else f"it takes {', '.join(names)}"
            msg = f"{cls.__name__} has no option {name!r}; {hint}"
            raise ValueError(msg)
        return given

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        limits = (self.max_messages, self.max_turns, self.max_tokens)
        if limits == (None, None, None):
            msg = "no budget: set max_messages, max_turns or max_tokens"
            raise ValueError(msg)
        counts = self.budget.meter
        if counts and self.trim_to < 1 and not counts.one_by_one:
            msg = (
                "trim_to with max_tokens counts message by message: use "
                "token_counter='approximate' or a callable whose parameter is annotated "
                f"as one message, not {counts.name}"
            )
            raise ValueError(msg)
        return self

    @cached_property
    def budget(self) -> Budget:
        """The budgets, as the rule takes them."""
        counts = None if self.max_tokens is None else meter(self.token_counter)
        return Budget(
            self.max_messages or UNLIMITED,
            self.max_turns or UNLIMITED,
            self.max_tokens or UNLIMITED,
            counts,
        )

    def decide(
        self, messages: MessagesInput, *, written: bool = False
    ) -> tuple[list[BaseMessage], Cut]:
        """Return the history as messages, and what is kept of it.

        `written` says that `messages` is a state that earlier cuts were written to.

        Raises:
            TypeError: `messages` is a mapping, a string or one message.
            ValueError: The rule refuses; see `langchain_mentor_reducer.rule.cut`.
        """
        history = _history(messages)
        try:
            decision = self._cut(history)
        except NotAMessageError:
            history = convert_to_messages(history)
            decision = self._cut(history)
        if written:
            decision = decision.less_orphans(history, self.starts_turn)
        if decision.overflowed:
            self._warn()
        return history, decision

    def mended(self, window: list[BaseMessage], *, answer_last: bool) -> Repair | None:
        """Mend what is kept, and cut it again, for an added result may not fit.

        Args:
            window: What is kept of a history.
            answer_last: Whether an open call in the last step is answered: it may be waiting
                for a person, unless a model is about to be called.

        Returns:
            What was mended and what is kept of that; None where there is nothing to mend.
        """
        mended = mend(window, answer_last=answer_last) if self.mend else None
        if mended is None:
            return None
        again = self._cut(mended.messages)
        if again.overflowed:
            self._warn()
        return mended, again

    def sent(self, window: list[BaseMessage], *, answer_last: bool = True) -> list[BaseMessage]:
        """Return what is kept, mended if that was asked for."""
        if not (self.mend and (repair := self.mended(window, answer_last=answer_last))):
            return window
        mended, again = repair
        return again.of(mended.messages)

    def _warn(self) -> None:
        logger.warning(
            "The newest step does not fit beside its question (overflow=%r, %s).",
            self.overflow,
            ", ".join(f"{name}={limit}" for name, limit in self.limits().items()),
        )

    def limits(self) -> dict[str, int]:
        """Return the budgets that are set, by name."""
        limits = {
            "max_messages": self.max_messages,
            "max_turns": self.max_turns,
            "max_tokens": self.max_tokens,
        }
        return {name: limit for name, limit in limits.items() if limit is not None}

    def _cut(self, history: Sequence[BaseMessage]) -> Cut:
        decide = partial(fold, share=self.trim_to) if self.trim_to < 1 else cut
        return decide(history, self.budget, overflow=self.overflow, starts_turn=self.starts_turn)


def _history(messages: MessagesInput) -> list[BaseMessage]:
    """Return the list that was given, its messages perhaps still to be converted."""
    if type(messages) is list:
        return messages
    if isinstance(messages, PromptValue):
        return messages.to_messages()
    if isinstance(messages, Mapping):
        fix = 'pass its list, such as state["messages"], or use MentorChatReducerNode in a graph'
    elif isinstance(messages, (str, bytes, BaseMessage)) or not isinstance(messages, Iterable):
        fix = "put it in a list"
    else:
        return cast("list[BaseMessage]", list(messages))
    msg = f"Expected a list of messages, got one {type(messages).__name__}: {fix}."
    raise TypeError(msg)
