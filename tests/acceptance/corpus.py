"""The histories that go through the reducer: real conversations, cut where a model was called.

The conversations lie beside the project. Where they are missing, `shapes.json` stands in for them.
"""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, convert_to_messages

from tests.acceptance import shapes
from tests.acceptance.shapes import GOOD

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
TRAJECTORIES = DATA / "trajectories.jsonl.gz"

History = list[BaseMessage]


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """What the lines of a compressed file hold."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def trajectories() -> Iterator[History]:
    """Every real conversation, whole."""
    for trajectory in lines(TRAJECTORIES):
        yield with_ids(convert_to_messages(trajectory["messages"]))


def conversations(*, every: int = 1) -> list[History]:
    """The real conversations, or each n-th of them; where they are missing, the kept shapes."""
    if TRAJECTORIES.exists():
        return [history for n, history in enumerate(trajectories()) if n % every == 0]
    return [with_ids(shapes.messages(shape)) for shape in shapes.kept()]


def known() -> list[History]:
    """The shapes that everybody accepts, each several times over."""
    return [with_ids(shapes.messages(shapes.repeated(shape, 5))) for shape in GOOD.values()]


def source() -> str:
    """Where `conversations` takes them from."""
    if TRAJECTORIES.exists():
        return "real conversations"
    return "shapes of real conversations (the conversations themselves are not beside the project)"


def with_ids(history: History) -> History:
    """Name each message, as LangGraph would: some of the reducers compared ask for it."""
    for place, message in enumerate(history):
        message.id = f"message-{place}"
    return history


def model_calls(history: History, *, at_most: int) -> list[History]:
    """What stood before a model was called: the history up to each of its messages, and all of it.

    Of more than `at_most` such points as many are taken, evenly spread, the last among them.
    """
    points = [n for n, message in enumerate(history) if n and isinstance(message, AIMessage)]
    if history and not isinstance(history[-1], AIMessage):
        points.append(len(history))
    last = len(points) - 1
    taken = (
        sorted({round(last * n / max(1, at_most - 1)) for n in range(at_most)}) if points else []
    )
    return [history[: points[n]] for n in taken if n <= last]
