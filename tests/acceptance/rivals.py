"""What else people bound a history with.

Each is given the same budget: N messages besides the system message.

Two of them are other packages' code as it runs. The other two are rules, written down from their
documentation: `MessageCountingChatReducer` is a .NET class, and slicing is what everybody writes
first.
"""

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    SystemMessage,
    ToolMessage,
    trim_messages,
)

from langchain_mentor_reducer import reduce_messages

History = list[BaseMessage]
Reducer = Callable[[History, int], History]


def ours(history: History, budget: int) -> History:
    """This package, with no option set."""
    return reduce_messages(history, max_messages=budget)


def sliced(history: History, budget: int) -> History:
    """The system message and the last N."""
    head = _system(history)
    return head + history[len(head) :][-budget:]


def trimmed(history: History, budget: int, **options: Any) -> History:
    """`trim_messages`, counting messages; its count includes the system message."""
    return trim_messages(
        history,
        strategy="last",
        include_system=True,
        token_counter=len,
        max_tokens=budget + len(_system(history)),
        **options,
    )


def documented(history: History, budget: int) -> History:
    """`trim_messages` with the options that its documentation shows for chat models."""
    return trimmed(history, budget, start_on="human", end_on=("human", "tool"))


def message_counting(history: History, budget: int) -> History:
    """The rule of `MessageCountingChatReducer`: the last N of what has no call and no result."""
    head = _system(history)
    plain = [message for message in history[len(head) :] if not _carries_tools(message)]
    return head + plain[-budget:]


def summarized(history: History, budget: int) -> History:
    """The `summarize_messages` of langmem, counting messages, one of them the summary.

    It puts the summary into a second system message. Several of the validators refuse two, which
    says nothing of how it cuts: the two are made one here, in its favor. And it cuts no more than
    it must, which by default it does.
    """
    head = _system(history)
    if len(history) <= budget + len(head):
        return history
    with warnings.catch_warnings():
        # It warns that what is to be summarized is long, and is built on names that LangGraph has
        # deprecated.
        warnings.simplefilter("ignore")
        from langmem.short_term import summarize_messages  # noqa: PLC0415 - warns when imported

        result = summarize_messages(
            history,
            running_summary=None,
            model=FakeListChatModel(responses=["What was said before."]),
            token_counter=len,
            max_tokens=budget + 1 + len(head),
            max_tokens_before_summary=1,
            max_summary_tokens=1,
        )
    system = [message for message in result.messages[:2] if isinstance(message, SystemMessage)]
    if len(system) < 2:
        return result.messages
    joined = SystemMessage("\n\n".join(message.text for message in system), id=system[0].id)
    return [joined, *result.messages[2:]]


def _system(history: Sequence[BaseMessage]) -> History:
    return [message for message in history[:1] if isinstance(message, SystemMessage)]


def _carries_tools(message: BaseMessage) -> bool:
    return isinstance(message, ToolMessage) or (
        isinstance(message, AIMessage) and bool(message.tool_calls or message.invalid_tool_calls)
    )


RIVALS: dict[str, Reducer] = {
    "the system message and the last N": sliced,
    "`trim_messages`, `token_counter=len`": trimmed,
    '`trim_messages`, `start_on="human"`': partial(trimmed, start_on="human"),
    '`trim_messages`, `start_on="human"`, `end_on=("human", "tool")`': documented,
    "the rule of `MessageCountingChatReducer` (no tool result is left)": message_counting,
    "langmem `summarize_messages`": summarized,
}
