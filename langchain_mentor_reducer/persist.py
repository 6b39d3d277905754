"""Writing a cut to the state: what goes, who is told before it goes, and the update.

Messages are removed by id. The marker that removes all would reach clients that stream
messages, and would take along what a parallel node has just written. `add_messages` is slow
at removing very many by id, which happens at most once in a thread: at its first cut.
"""

import asyncio
import inspect
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.messages import BaseMessage, RemoveMessage
from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from langchain_mentor_reducer.rule import Cut

OnDrop = Callable[[list[BaseMessage], Runtime[Any]], Any]
"""Called with the messages that are about to go and the graph's runtime; may be async."""


def check_on_drop(on_drop: OnDrop | None, *, persist: bool) -> None:
    """Refuse an `on_drop` that would never be called.

    Raises:
        ValueError: Nothing is dropped from the state without `persist`.
    """
    if on_drop is not None and not persist:
        msg = "on_drop is called when messages leave the state: set persist=True, or leave it out"
        raise ValueError(msg)


def leaving(
    history: Sequence[BaseMessage], cut: Cut, state: Sequence[BaseMessage]
) -> list[BaseMessage]:
    """List the messages of `state` that a cut of `history` removes, in their order.

    A question that loses some of its answers is among them, as it stands in the state.
    """
    kept = {cut.system, *cut.indices(len(history))} - cut.stranded.keys()
    ids = {message.id for message in state}
    return [m for i, m in enumerate(history) if i not in kept and m.id in ids]


def update(
    leaving: Sequence[BaseMessage],
    window: Sequence[BaseMessage],
    state: Sequence[BaseMessage],
    answer: Sequence[BaseMessage] = (),
) -> list[BaseMessage] | Overwrite:
    """Make the update that leaves the window in the state.

    Args:
        leaving: The messages to remove.
        window: What is kept.
        state: The messages in the state.
        answer: What the model wrote in the same step.
    """
    ids = Counter(message.id for message in state)
    if any(message.id is None or ids[message.id] > 1 for message in leaving):
        return Overwrite([*window, *answer])
    left = {message.id: message for message in window}
    return [left.get(m.id) or RemoveMessage(id=m.id) for m in leaving if m.id is not None]


def tell(on_drop: OnDrop | None, leaving: list[BaseMessage], runtime: Runtime[Any]) -> None:
    """Call `on_drop`, if anything leaves.

    Raises:
        TypeError: `on_drop` is async, and nobody is here to await it.
    """
    if on_drop is None or not leaving:
        return
    result = on_drop(leaving, runtime)
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()
        msg = "on_drop is async: run the graph with ainvoke or astream, or give a plain function"
        raise TypeError(msg)


async def atell(on_drop: OnDrop | None, leaving: list[BaseMessage], runtime: Runtime[Any]) -> None:
    """Call `on_drop`, if anything leaves: a plain function in a thread, for it may wait."""
    if on_drop is None or not leaving:
        return
    result = await asyncio.to_thread(on_drop, leaving, runtime)
    if inspect.isawaitable(result):
        await result
