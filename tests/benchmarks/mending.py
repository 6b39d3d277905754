"""What mending costs where nothing is broken: the look at each message that is kept."""

from functools import partial

from langchain_core.messages import AIMessage, HumanMessage

from langchain_mentor_reducer import MentorChatReducer, mend_messages
from tests.benchmarks.clock import measure, ratio, written
from tests.benchmarks.histories import ANSWER, QUESTION, SHAPES, Shape, history
from tests.tables import table

KEPT = 50
TALK = Shape("text alone", lambda _: [HumanMessage(QUESTION), AIMessage(ANSWER)], asks=False)
"""Nobody calls anything."""


def markdown(length: int = 1_000, *, seconds: float = 0.5) -> str:
    """Measure, and lay out what was measured."""
    rows = []
    for shape in (TALK, *SHAPES):
        messages = history(shape, length)
        times = measure(
            {
                "without": partial(MentorChatReducer(KEPT).reduce, messages),
                "with": partial(MentorChatReducer(KEPT, mend=True).reduce, messages),
                "whole": partial(mend_messages, messages),
            },
            seconds=seconds,
            limit=5.0,
        )
        without, mended, whole = (time.least if time else float("nan") for time in times.values())
        cells = [written(without), written(mended), ratio(mended / without)]
        rows.append([shape.name, *cells, f"{whole / len(messages) * 1e9:.0f}"])
    head = ["", "`reduce`", "with `mend=True`", "times", "`mend_messages`, ns a message"]
    caption = (
        f"Where all is sound, {KEPT} of about {length:,} messages kept, the least time of a call:"
    )
    return f"{caption}\n\n{table(head, rows)}"
