"""Bounded chat histories: the most recent whole turns, every tool call with its result."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from langchain_mentor_reducer.mend import mend_messages
from langchain_mentor_reducer.report import Reduction
from langchain_mentor_reducer.runnable import MentorChatReducer, reduce_messages

if TYPE_CHECKING:
    from langchain_mentor_reducer.channel import bounded_messages
    from langchain_mentor_reducer.middleware import MentorChatReducerMiddleware
    from langchain_mentor_reducer.node import MentorChatReducerNode

__all__ = [
    "MentorChatReducer",
    "MentorChatReducerMiddleware",
    "MentorChatReducerNode",
    "Reduction",
    "bounded_messages",
    "mend_messages",
    "reduce_messages",
]

# What needs langgraph or langchain is imported when it is first asked for.
_LAZY = {
    "MentorChatReducerMiddleware": "langchain_mentor_reducer.middleware",
    "MentorChatReducerNode": "langchain_mentor_reducer.node",
    "bounded_messages": "langchain_mentor_reducer.channel",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY])
