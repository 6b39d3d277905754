"""Histories written as their shape alone: who speaks, calls and answers, and at what length.

A shape reads `S812 U45 A0>1,2 T33<1 T20<2 A64`: a system message of 812 characters, a question
of 45, a message that calls 1 and 2 and says nothing, their results, an answer. Without a length a
message says a few words, a call nothing.

`shapes.json` keeps the shapes of real conversations, not a word of what was said in them. `python
-m tests.acceptance.shapes` derives it anew from the trajectories beside the project.
"""

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from langchain_mentor_reducer.shape import filler

GOOD = {
    "questions and answers": "S U A U",
    "a call": "S U A>1 T<1 A U",
    "a call with words": "S U A9>1 T<1 A U",
    "parallel calls": "S U A>1,2 T<1 T<2 A U",
    "parallel calls, results swapped": "S U A>1,2 T<2 T<1 A U",
    "a loop under way": "S U A>1 T<1 A>2 T<2",
    "a loop, no system message": "U A>1 T<1 A>2 T<2",
    "a question alone": "U",
    "the system message and a question": "S U",
}
"""Shapes that every provider accepts."""

SHAPES = Path(__file__).with_name("shapes.json")
STEP = re.compile(r"(?P<role>[SUAT])(?P<length>\d*)(?:>(?P<calls>[\w,]*))?(?:<(?P<answers>\w*))?")


def messages(shape: str) -> list[BaseMessage]:
    """Messages of this shape, with filler for text."""
    return [_message(step) for step in shape.split()]


def _message(step: str) -> BaseMessage:
    match = STEP.fullmatch(step)
    if match is None:
        msg = f"not a step of a shape: {step!r}"
        raise ValueError(msg)
    role, calls = match["role"], match["calls"]
    text = filler(int(match["length"] or (0 if calls is not None else 12)))
    if role == "S":
        return SystemMessage(text)
    if role == "U":
        return HumanMessage(text)
    if role == "T":
        return ToolMessage(text, tool_call_id=_id(match["answers"]), name="look_up")
    made = [] if calls is None else calls.split(",")
    return AIMessage(
        text, tool_calls=[{"name": "look_up", "args": {"about": n}, "id": _id(n)} for n in made]
    )


def _id(number: str) -> str:
    return f"call_{number}" if number else ""


@cache
def kept() -> tuple[str, ...]:
    """The shapes of real conversations that the project keeps."""
    return tuple(json.loads(SHAPES.read_text(encoding="utf-8")))


def repeated(shape: str, times: int) -> str:
    """A shape several times over: one system message, and call ids of their own each time."""
    steps = shape.split()
    system = [step for step in steps if step.startswith("S")]
    turns = [step for step in steps if not step.startswith("S")]
    again = [
        re.sub(r"(?<=[<>,])(\w+)", rf"\1{'abcdefgh'[n]}", step)
        for n in range(times)
        for step in turns
    ]
    return " ".join(system + again)


# --- how shapes.json came to be -------------------------------------------------------------------


def shape_of(history: Sequence[BaseMessage]) -> str:
    """The shape of a history; a call id used again keeps its number."""
    numbers: dict[str, int] = {}

    def number(call_id: str) -> int:
        return numbers.setdefault(call_id, len(numbers) + 1)

    def steps() -> Iterator[str]:
        for message in history:
            length = len(message.text)
            match message:
                case SystemMessage():
                    yield f"S{length}"
                case HumanMessage():
                    yield f"U{length}"
                case ToolMessage():
                    yield f"T{length}<{number(message.tool_call_id)}"
                case AIMessage(tool_calls=[]):
                    yield f"A{length}"
                case AIMessage():
                    made = ",".join(str(number(str(call["id"]))) for call in message.tool_calls)
                    yield f"A{length}>{made}"
                case _:
                    msg = f"no letter for {type(message).__name__}"
                    raise TypeError(msg)

    return " ".join(steps())


def _derive() -> None:
    """Keep one conversation of each pattern of roles and calls, those of the data's order first."""
    from tests.acceptance.corpus import trajectories  # noqa: PLC0415 - it reads this module

    by_pattern: dict[str, str] = {}
    for trajectory in trajectories():
        shape = shape_of(trajectory)
        if len(trajectory) <= 120:
            by_pattern.setdefault(re.sub(r"(?<=[SUAT])\d+", "", shape), shape)
    every = sorted(by_pattern.values(), key=len)
    chosen = every[:: max(1, len(every) // 150)]
    SHAPES.write_text(json.dumps(chosen, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    _derive()
