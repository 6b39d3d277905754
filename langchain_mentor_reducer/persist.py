"""A cut of a graph's state: what the model sees, what leaves the state, who is told before.

Messages are removed by id. The marker that removes all would reach clients that stream
messages, and would take along what a parallel node has just written. `add_messages` is slow
at removing very many by id, which happens at most once in a thread: at its first cut.
"""

import asyncio
import inspect
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage, RemoveMessage
from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from langchain_mentor_reducer.options import MessagesInput, ReducerOptions

OnDrop = Callable[[list[BaseMessage], Runtime[Any]], Any]
"""Called as `on_drop(messages, runtime)` before messages leave the state; may be async. If it
raises, none leaves. Retries and replays call it again: archive by message id."""


class StateCut(NamedTuple):
    """What is kept of a graph's messages, and what leaves them."""

    window: list[BaseMessage]
    """What is kept of them."""
    view: list[BaseMessage]
    """What the model sees of that: it may be mended, which is not written."""
    leaving: list[BaseMessage]
    """What is to leave the state, as it stands there. A question that loses some of its
    answers is among them; what is left of it stands in the window under the same id."""
    state: Sequence[BaseMessage]
    """The messages in the state."""

    def update(self, answer: Sequence[BaseMessage] = ()) -> list[BaseMessage] | Overwrite:
        """Make the update that removes what leaves; `answer` is written in the same step.

        The list is replaced only where ids are missing or stand twice.
        """
        ids = Counter(message.id for message in self.state)
        if any(message.id is None or ids[message.id] > 1 for message in self.leaving):
            return Overwrite([*self.window, *answer])
        left = {message.id: message for message in self.window}
        return [left.get(m.id) or RemoveMessage(id=m.id) for m in self.leaving if m.id is not None]

    def tell(self, on_drop: OnDrop | None, runtime: Runtime[Any]) -> None:
        """Call `on_drop`, if anything leaves; one that is async is a `TypeError` here."""
        result = on_drop(self.leaving, runtime) if on_drop and self.leaving else None
        if inspect.isawaitable(result):
            if inspect.iscoroutine(result):
                result.close()
            fix = "run the graph with ainvoke or astream, or give a plain function"
            msg = f"on_drop is async: {fix}"
            raise TypeError(msg)

    async def atell(self, on_drop: OnDrop | None, runtime: Runtime[Any]) -> None:
        """Call `on_drop`, if anything leaves: in a thread, for a plain function may wait there."""
        if on_drop and self.leaving:
            result = await asyncio.to_thread(on_drop, self.leaving, runtime)
            if inspect.isawaitable(result):
                await result


def cut_state(
    options: ReducerOptions,
    messages: MessagesInput,
    state: Sequence[BaseMessage] | None = None,
    *,
    persist: bool,
) -> StateCut:
    """Cut what the model is about to see, and with `persist` the state: these messages, or `state`.

    Raises:
        ValueError: Nothing is left for the model to see.
    """
    history, cut = options.decide(messages, written=persist)
    view = options.sent(window := cut.of(history))
    if history and not view:
        budget = ", ".join(f"{name}={limit}" for name, limit in options.limits().items())
        msg = f"Of {len(history)} messages none fits {budget}: raise the budget."
        raise ValueError(msg)
    state = history if state is None else state
    if not persist:
        return StateCut(window, view, [], state)
    kept = {cut.system, *cut.indices(len(history))} - cut.stranded.keys()
    stands = {message.id: message for message in state}  # what is seen of it may be edited
    leaving = [stands[m.id] for i, m in enumerate(history) if i not in kept and m.id in stands]
    return StateCut(window, view, leaving, state)


def check_on_drop(on_drop: OnDrop | None, *, persist: bool) -> None:
    """Refuse an `on_drop` that would never be called."""
    if on_drop is not None and not persist:
        msg = "on_drop is called when messages leave the state: set persist=True, or leave it out"
        raise ValueError(msg)
