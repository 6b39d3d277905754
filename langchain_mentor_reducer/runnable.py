"""The reducer as a runnable and as a function: a list of messages in, a list out."""

import logging
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NoReturn, TypeVar, Unpack, overload

from langchain_core.messages import BaseMessage, MessageLikeRepresentation
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import RunnableConfig, RunnableSerializable

from langchain_mentor_reducer.html import draw
from langchain_mentor_reducer.options import MessagesInput, Options, ReducerOptions
from langchain_mentor_reducer.report import Reduction, report

logger = logging.getLogger(__name__)

Message = TypeVar("Message", bound=BaseMessage)


class MentorChatReducer(RunnableSerializable[MessagesInput, list[BaseMessage]], ReducerOptions):
    """Keeps the most recent whole turns that fit, every tool call with its result.

    ```python
    from langchain_core.messages import AIMessage, HumanMessage
    from langchain_mentor_reducer import MentorChatReducer

    reducer = MentorChatReducer(3)
    history = [HumanMessage("One?"), AIMessage("1"), HumanMessage("Two?"), AIMessage("2")]
    assert reducer.invoke(history) == history[2:]
    ```

    One instance serves every thread. The messages that come out are the very objects that
    went in, and the input is not changed. Only a user message that loses some of its answers,
    because their calls were cut, comes out as a copy under the same id.

    Args:
        max_messages: The most messages to keep. All count but the system message, so 50
            means 51 with it.
        name: The name in traces.
        options: See `Options`.

    Raises:
        pydantic.ValidationError: An option is wrong, misspelt, or no budget is set. It is a
            `ValueError`.
    """

    def __init__(
        self,
        max_messages: int | None = None,
        *,
        name: str | None = None,
        **options: Unpack[Options],
    ) -> None:
        """Check the options."""
        given: dict[str, Any] = {"max_messages": max_messages, "name": name, **options}
        super().__init__(**given)

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Return True: `dumpd` and `load` round-trip a reducer."""
        return True

    def invoke(
        self, input: MessagesInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[BaseMessage]:
        """Reduce a history: messages, message-likes or a prompt value.

        Raises:
            TypeError: `input` is a mapping, a string or one message.
            OverBudgetError: The newest step does not fit, under `overflow="error"`.
            ValueError: A `RemoveMessage` stands in the history, or the token counter failed.
        """
        return self._call_with_config(self.reduce, input, config)

    async def ainvoke(
        self, input: MessagesInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[BaseMessage]:
        """Reduce a history, in the event loop: there is nothing to wait for."""
        return await self._acall_with_config(self._areduce, input, config)

    def reduce(self, messages: MessagesInput) -> list[BaseMessage]:
        """Reduce a history, without the callbacks and traces of `invoke`."""
        history, decision = self.decide(messages)
        window = self.sent(decision.of(history))
        logger.debug("Kept %d of %d messages.", len(window), len(history))
        return window

    async def _areduce(self, messages: MessagesInput) -> list[BaseMessage]:
        return self.reduce(messages)

    def explain(self, messages: MessagesInput) -> Reduction:
        """Say what is kept of a history, what is dropped and why; raises as `invoke` does."""
        history, decision = self.decide(messages)
        return report(
            history,
            decision,
            self.mended(decision.of(history), answer_last=True),
            meter=self.budget.meter,
            starts_turn=self.starts_turn,
            limits=self.limits(),
            draw=draw,
        )

    def __call__(self, left: object, right: object) -> NoReturn:
        """Refuse to be a state reducer: applied to each write, the rule would break."""
        msg = (
            "MentorChatReducer is a runnable and cannot annotate a state key: LangGraph would "
            "apply it to each write, between the results of parallel calls. Use "
            "Annotated[list[AnyMessage], bounded_messages(...)]; to reduce a list, call .invoke()."
        )
        raise TypeError(msg)


@overload
def reduce_messages(
    messages: None = None, *, max_messages: int | None = None, **options: Unpack[Options]
) -> MentorChatReducer: ...
@overload
def reduce_messages(  # pyright: ignore[reportOverlappingOverload] - messages are message-likes too
    messages: Sequence[Message], *, max_messages: int | None = None, **options: Unpack[Options]
) -> list[Message]: ...
@overload
def reduce_messages(
    messages: Sequence[MessageLikeRepresentation] | PromptValue,
    *,
    max_messages: int | None = None,
    **options: Unpack[Options],
) -> list[BaseMessage]: ...
def reduce_messages(
    messages: MessagesInput | None = None,
    *,
    max_messages: int | None = None,
    **options: Unpack[Options],
) -> Any:
    """Keep the most recent whole turns that fit, every tool call with its result.

    ```python
    from langchain_core.messages import AIMessage, HumanMessage
    from langchain_mentor_reducer import reduce_messages

    history = [HumanMessage("One?"), AIMessage("1"), HumanMessage("Two?"), AIMessage("2")]
    assert reduce_messages(history, max_messages=3) == history[2:]
    ```

    With messages it returns a list, without it returns a `MentorChatReducer` to pipe.

    Args:
        messages: Messages, message-likes or a prompt value.
        max_messages: The most messages to keep, the system message not counted.
        options: See `Options`. What is wrong raises as in `MentorChatReducer`.
    """
    if messages is not None and not options and type(max_messages) is int:
        return _checked_once(max_messages).reduce(messages)
    reducer = MentorChatReducer(max_messages, **options)
    return reducer if messages is None else reducer.reduce(messages)


# To check the options takes half as long as to reduce. Callables are not held on to.
_checked_once = lru_cache(maxsize=128)(MentorChatReducer)
