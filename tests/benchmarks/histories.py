"""Histories to measure on: of any length, in the shapes that real ones have.

Each ends where a model is called, and every message has an id, for some of those compared ask for
one. Lengths of texts are those of an ordinary tool-calling conversation.
"""

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

History = list[BaseMessage]

SYSTEM = "Answer in one sentence, and look things up before you say them. " * 10
QUESTION = "And how many of the crates from the second barge are still on the quay tonight?"
RESULT = "crate 17, pier 3, weighed at noon, marked with a blue cross, not yet collected; " * 5
ANSWER = "Twelve of them are still there; the others were collected in the afternoon. " * 3
PARALLEL = 16


class Shape(NamedTuple):
    """What a history is made of: a unit, over and over."""

    name: str
    unit: Callable[[int], History]
    asks: bool = True
    """Whether a question stands after the last unit, so that a model is called."""


def _call(n: int, part: int = 0) -> dict[str, Any]:
    return {"name": "look_up", "args": {"about": f"crate {n}"}, "id": f"call_{n}_{part}"}


def _result(n: int, part: int = 0) -> ToolMessage:
    return ToolMessage(f"{n} {RESULT}", tool_call_id=f"call_{n}_{part}", name="look_up")


def _turn(calls: int, n: int) -> History:
    return [
        HumanMessage(f"{n} {QUESTION}"),
        AIMessage("", tool_calls=[_call(n, part) for part in range(calls)]),
        *(_result(n, part) for part in range(calls)),
        AIMessage(f"{n} {ANSWER}"),
    ]


def _blocks(n: int) -> History:
    """Make a turn whose content is blocks, as Anthropic's models write it."""
    call = _call(n)
    use = {"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["args"]}
    return [
        HumanMessage([{"type": "text", "text": f"{n} {QUESTION}"}]),
        AIMessage([{"type": "text", "text": "Let me see."}, use], tool_calls=[call]),
        ToolMessage([{"type": "text", "text": f"{n} {RESULT}"}], tool_call_id=call["id"]),
        AIMessage([{"type": "text", "text": f"{n} {ANSWER}"}]),
    ]


def _step(n: int) -> History:
    step: History = [AIMessage("", tool_calls=[_call(n)]), _result(n)]
    return step if n else [HumanMessage(QUESTION), *step]


TEXT = Shape("text", partial(_turn, 1))
BLOCKS = Shape("content blocks", _blocks)
PARALLEL_CALLS = Shape(f"{PARALLEL} parallel calls", partial(_turn, PARALLEL))
ONE_TURN = Shape("one long turn", _step, asks=False)
SHAPES = (TEXT, BLOCKS, PARALLEL_CALLS, ONE_TURN)


def history(shape: Shape, length: int, *, system: bool = True) -> History:
    """Make a history of about `length` messages: whole units, never more."""
    messages: History = [SystemMessage(SYSTEM)] if system else []
    closing = [HumanMessage(QUESTION)] if shape.asks else []
    for n in count():
        unit = shape.unit(n)
        if len(messages) + len(unit) + len(closing) > length:
            break
        messages += unit
    messages += closing
    for place, message in enumerate(messages):
        message.id = f"message-{place}"
    return messages
