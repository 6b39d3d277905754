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
    found: list[Answer] = []
    made: set[Call] = set()
    thorough = False
    message: Any  # its role tells what it has
    for i, message in enumerate(messages[start:end], start):
        role = ROLES[type(message)]
        if role == "ai":
            for call in message.tool_calls:
                made.add(call["id"])
            if thorough:
                made.update(calls_of(message))
            continue
        if role == "result":
            settled = type(message) is ToolMessage and message.tool_call_id in made
        else:
            settled = type(message.content) is str if role == "user" else role_of(message) != "user"
        if settled:
            continue
        for part, answered in answers_of(message).items():
            if answered not in made and not thorough:
                # Most calls are `tool_calls`; only where these do not do are others looked for.
                thorough = True
                made.update(*map(calls_of, messages[start:i]))
            if answered not in made:
                found.append((i, part, answered))
    return found


def stranded(
    messages: Sequence[BaseMessage], question: int | None, start: int, end: int | None = None
) -> dict[int, frozenset[int]]:
    """Find the kept answers whose call was made before the window, where nothing is kept.

    The window is `messages[start:end]`, and the question before it if there is one.
    """
    end = len(messages) if end is None else end
    lost: dict[int, frozenset[int]] = {}
    pieces = [(start, end)] if question is None else [(question, question + 1), (start, end)]
    for begin, stop in pieces:
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
