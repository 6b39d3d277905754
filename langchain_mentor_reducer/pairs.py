"""Which answer belongs to which call, and which answers a cut has stranded.

An answer belongs to the nearest earlier message that made a call with its id. So ids may be
used again, and answers may come in any order.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage

from langchain_mentor_reducer.calls import Call, answers_of, calls_of
from langchain_mentor_reducer.turns import ROLES, role_of, steps

Stranded = Mapping[int, frozenset[int]]
"""The answers whose call was cut: for a message's index, which of its parts."""


Answer = tuple[int, int, Call]
"""An answer: the index of its message, which of its parts answers, and the call."""


def unpaired(messages: Sequence[BaseMessage], start: int, end: int) -> list[Answer]:
    """List the answers in `messages[start:end]` to calls that were not made before them there."""
    window = messages[start:end]
    if _all_paired(window):
        return []
    found: list[Answer] = []
    made: set[Call] = set()
    for i, message in enumerate(window, start):
        role = role_of(message)
        if role == "ai":
            made.update(calls_of(message))
        elif role in {"result", "user"}:
            for part, answered in answers_of(message).items():
                if answered not in made:
                    found.append((i, part, answered))
    return found


def _all_paired(window: Sequence[BaseMessage]) -> bool:
    """Tell whether the `tool_calls` in a window do for all its answers, as they mostly do."""
    made: set[str | None] = set()
    message: Any  # its role tells what it has
    for message in window:
        role = ROLES[type(message)]
        if role == "ai":
            for call in message.tool_calls:
                made.add(call["id"])
        elif role == "result":
            if type(message) is not ToolMessage or message.tool_call_id not in made:
                return False
        elif role == "user":
            if type(message.content) is not str and answers_of(message):
                return False
        elif role_of(message) == "user" and answers_of(message):
            return False
    return True


def pieces(question: int | None, start: int, end: int) -> list[tuple[int, int]]:
    """List the stretches of a window: the question before it if there is one, and the rest."""
    return [(start, end)] if question is None else [(question, question + 1), (start, end)]


def stranded(
    messages: Sequence[BaseMessage], question: int | None, start: int, end: int
) -> dict[int, frozenset[int]]:
    """Find the kept answers whose call was made before the window, where nothing is kept.

    The window is `messages[start:end]`, and the question before it if there is one.
    """
    lost: dict[int, frozenset[int]] = {}
    for begin, stop in pieces(question, start, end):
        if answers := unpaired(messages, begin, stop):
            made = _made_before(messages, begin, {call for _, _, call in answers})
            for i, part, call in answers:
                if call in made:
                    lost[i] = lost.get(i, frozenset()) | {part}
    return lost


def _made_before(messages: Sequence[BaseMessage], end: int, calls: set[Call]) -> set[Call]:
    """Find which of `calls` were made in `messages[:end]`."""
    made: set[Call] = set()
    for step in steps(messages, 0, end):
        made.update(calls.intersection(calls_of(messages[step])))
        if made == calls:
            break
    return made
