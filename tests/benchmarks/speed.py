"""Beside `trim_messages` and a bare loop: histories of any length, about 50 messages kept.

With a system message in front, without one, and in one turn that is longer than the budget. The
bare loop goes back over the same window and looks at the type of each message: nothing that keeps
a window can be quicker.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from langchain_core.messages import HumanMessage, trim_messages

from langchain_mentor_reducer import MentorChatReducer, reduce_messages
from tests.benchmarks.clock import Timing, measure, ratio, written
from tests.benchmarks.histories import ONE_TURN, TEXT, History, history
from tests.tables import table

KEPT = 50
LENGTHS = (100, 1_000, 10_000, 100_000)
CASES = {
    "a system message in front": (TEXT, True),
    "no system message": (TEXT, False),
    "one long turn, a system message in front": (ONE_TURN, True),
    "one long turn, no system message": (ONE_TURN, False),
}
REDUCE, FUNCTION, TRIM, WALK = "reduce", "function", "trim", "walk"
FOLD, TURNS = "fold", "turns"
INVOKE, TRIM_INVOKE = "invoke", "trim_invoke"
SHOWN = (REDUCE, FUNCTION, FOLD, TURNS, TRIM, WALK)

CAPTION = (
    f"About {KEPT} messages kept of histories of growing length: the median time of a call, and in "
    "parentheses the least. `reduce` is a `MentorChatReducer`'s, built once; `reduce_messages` "
    "takes its budget with each call. `trim_to` is the same with `trim_to=0.6`, and beside it one "
    f"that keeps {KEPT // 4} turns. The bare walk is a loop that looks back over the same window "
    "and does nothing else."
)


@dataclass(frozen=True)
class Row:
    """What one history took."""

    case: str
    length: int
    times: dict[str, Timing]


def bare_walk(messages: History, kept: int) -> History:
    """Go back over the window and find the oldest question in it."""
    start = len(messages)
    for i in range(len(messages) - 1, max(-1, len(messages) - 1 - kept), -1):
        if type(messages[i]) is HumanMessage:
            start = i
    return messages[start:]


def rows(
    lengths: Sequence[int] = LENGTHS, *, seconds: float = 0.5, limit: float = 5.0
) -> Iterator[Row]:
    """Measure every case at every length."""
    for case, (shape, system) in CASES.items():
        for length in lengths:
            messages = history(shape, length, system=system)
            reducer = MentorChatReducer(KEPT)
            trimmed = partial(
                trim_messages,
                max_tokens=KEPT + system,
                token_counter=len,
                strategy="last",
                start_on="human",
                include_system=True,
            )
            times = measure(
                {
                    REDUCE: partial(reducer.reduce, messages),
                    FUNCTION: partial(reduce_messages, messages, max_messages=KEPT),
                    FOLD: partial(MentorChatReducer(KEPT, trim_to=0.6).reduce, messages),
                    TURNS: partial(
                        MentorChatReducer(max_turns=KEPT // 4, trim_to=0.6).reduce, messages
                    ),
                    TRIM: partial(trimmed, messages),
                    WALK: partial(bare_walk, messages, KEPT),
                    INVOKE: partial(reducer.invoke, messages),
                    TRIM_INVOKE: partial(trimmed().invoke, messages),
                },
                seconds=seconds,
                limit=limit,
            )
            yield Row(case, len(messages), {name: time for name, time in times.items() if time})


def markdown(measured: Sequence[Row]) -> str:
    """Lay out what was measured."""
    lines = [CAPTION]
    for case in dict.fromkeys(row.case for row in measured):
        mine = [row for row in measured if row.case == case]
        lines += ["", f"*With {case}*" if case.startswith(("a ", "no ")) else f"*In {case}*", ""]
        lines.append(
            table(
                [
                    "messages",
                    "`reduce`",
                    "`reduce_messages`",
                    "`trim_to`",
                    "`trim_to`, turns",
                    "`trim_messages`",
                    "bare walk",
                    "`trim_messages` / `reduce_messages`",
                    "`trim_messages` / `reduce`",
                    "`trim_messages` / `trim_to`",
                    "`trim_messages` / `trim_to`, turns",
                    "`reduce` / bare walk",
                    "ns per further message",
                ],
                [
                    [
                        f"{row.length:,}",
                        *(_cell(row.times.get(name)) for name in SHOWN),
                        _times(row, TRIM, FUNCTION),
                        _times(row, TRIM, REDUCE),
                        _times(row, TRIM, FOLD),
                        _times(row, TRIM, TURNS),
                        _times(row, REDUCE, WALK),
                        _slope(mine[0], row),
                    ]
                    for row in mine
                ],
                left=0,
            )
        )
    return "\n".join(lines)


def invoke_markdown(measured: Sequence[Row]) -> str:
    """Lay out what `invoke` adds: callbacks, tracing, the config."""
    return "\n".join(
        [
            "What a runnable adds with its callbacks and config (with a system message in front):",
            "",
            table(
                [
                    "messages",
                    "`invoke`",
                    "over `reduce`",
                    "`trim_messages().invoke`",
                    "over the function",
                ],
                [
                    [
                        f"{row.length:,}",
                        _cell(row.times.get(INVOKE)),
                        _over(row, INVOKE, REDUCE),
                        _cell(row.times.get(TRIM_INVOKE)),
                        _over(row, TRIM_INVOKE, TRIM),
                    ]
                    for row in measured
                    if row.case == next(iter(CASES))
                ],
                left=0,
            ),
        ]
    )


def _cell(time: Timing | None) -> str:
    return f"{written(time.median)} ({written(time.least)})" if time else "over the limit"


def _times(row: Row, slower: str, quicker: str) -> str:
    if slower not in row.times or quicker not in row.times:
        return "-"
    return ratio(row.times[slower].median / row.times[quicker].median)


def _over(row: Row, whole: str, part: str) -> str:
    if whole not in row.times or part not in row.times:
        return "-"
    over = row.times[whole].median - row.times[part].median
    # A few microseconds more drown in the noise of many milliseconds.
    return f"+{written(over)}" if over > 0.01 * row.times[whole].median else "in the noise"


def _slope(first: Row, row: Row) -> str:
    if row.length == first.length:
        return "-"
    longer = row.times[REDUCE].least - first.times[REDUCE].least
    return f"{longer / (row.length - first.length) * 1e9:.1f}"
