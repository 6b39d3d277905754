"""Side by side with everything else that bounds a history, in every shape, at windows of 20 to 500.

Everything that counts the same is compared: messages with messages, turns with turns, tokens with
tokens. What each keeps differs, and so does whether it is valid: this is about time alone.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from tests.benchmarks import rivals
from tests.benchmarks.clock import Timing, measure, ratio, written
from tests.benchmarks.histories import SHAPES, TEXT, Shape, history
from tests.benchmarks.rivals import OURS
from tests.tables import table

LENGTHS = (100, 1_000, 10_000, 100_000)
WINDOWS = (20, 50, 500)
SHOWN = 50
"""The window of the table that stands for the others."""

Key = tuple[str, str]
"""What a rival counts, and its name."""


@dataclass(frozen=True)
class Cell:
    """What one rival took on one history; no time where it went over the limit."""

    shape: str
    window: int
    length: int
    key: Key
    time: Timing | None = field(compare=False)


def cells(
    lengths: Sequence[int] = LENGTHS,
    windows: Sequence[int] = WINDOWS,
    *,
    shapes: Sequence[Shape] = SHAPES,
    seconds: float = 0.2,
    limit: float = 2.0,
    progress: Callable[[str], object] = lambda _: None,
) -> Iterator[Cell]:
    """Measure every rival on every shape, window and length.

    One that went over the limit is not asked about longer histories of that shape and window.
    """
    contenders = {(rival.counts, rival.name): rival for rival in rivals.present()}
    for shape in shapes:
        over: set[tuple[int, Key]] = set()
        for length in lengths:
            messages = history(shape, length)
            for window in windows:
                progress(f"{shape.name}, {length:,} messages, a window of {window}")
                size = rivals.window(messages, window)
                times = measure(
                    {
                        _joined(key): rival.prepare(messages, size)
                        for key, rival in contenders.items()
                        if (window, key) not in over
                    },
                    seconds=seconds,
                    limit=limit,
                    unlimited={_joined(key) for key in contenders if _is_ours(key)},
                )
                for key in contenders:
                    time = times.get(_joined(key))
                    if time is None:
                        over.add((window, key))
                    yield Cell(shape.name, window, length, key, time)


def full_markdown(measured: Sequence[Cell], limit: float) -> str:
    """Lay out one table for each shape and window."""
    tables = [
        f"*{shape}, a window of {window}*\n\n{_table(measured, shape, window, limit)}"
        for shape, window in dict.fromkeys((cell.shape, cell.window) for cell in measured)
    ]
    return "\n\n".join([*tables, _verdict(measured)])


def markdown(measured: Sequence[Cell], limit: float) -> str:
    """Lay out the table that stands for the others, and where a peer wins in any."""
    shape = next((c.shape for c in measured if c.shape == TEXT.name), measured[0].shape)
    windows = {cell.window for cell in measured}
    window = SHOWN if SHOWN in windows else min(windows)
    caption = (
        f"The median time of a call on histories of {shape}, at a window of {window} messages or "
        "as many turns or tokens, and how many times ours it is. The last column is the least such "
        "ratio over every shape (text, content blocks, many parallel calls, one long turn), every "
        f"length and every window ({', '.join(map(str, sorted(windows)))})."
    )
    shown = _table(measured, shape, window, limit, least=True)
    return f"{caption}\n\n{shown}\n\n{_verdict(measured)}"


def wins(measured: Sequence[Cell]) -> list[tuple[Cell, float]]:
    """List where a peer was quicker than this package, and how many times ours its time was."""
    return [
        (cell, times)
        for cell in measured
        if not _is_ours(cell.key) and (times := _times(measured, cell)) is not None and times < 1
    ]


def _joined(key: Key) -> str:
    return ": ".join(key)


def _is_ours(key: Key) -> bool:
    return key in {(rival.counts, rival.name) for rival in OURS}


def _times(measured: Sequence[Cell], cell: Cell) -> float | None:
    """Tell how many times the time of this package one took, at the same history and window."""
    ours = replace(cell, key=(cell.key[0], OURS[0].name))
    beside = next((other.time for other in measured if other == ours), None)
    return cell.time.median / beside.median if cell.time and beside else None


def _table(
    measured: Sequence[Cell], shape: str, window: int, limit: float, *, least: bool = False
) -> str:
    here = [cell for cell in measured if (cell.shape, cell.window) == (shape, window)]
    lengths = list(dict.fromkeys(cell.length for cell in here))
    head = ["counts", "", *(f"{length:,}" for length in lengths)]
    rows = []
    for key in dict.fromkeys(cell.key for cell in here):
        mine = [cell for cell in here if cell.key == key]
        row = [key[0], key[1], *(_cell(measured, cell, limit) for cell in mine)]
        if least:
            everywhere = [
                times
                for cell in measured
                if cell.key == key and (times := _times(measured, cell)) is not None
            ]
            is_base = key[1] == OURS[0].name
            row.append("" if is_base or not everywhere else ratio(min(everywhere)))
        rows.append(row)
    return table([*head, "least ratio"] if least else head, rows, left=2)


def _cell(measured: Sequence[Cell], cell: Cell, limit: float) -> str:
    if cell.time is None:
        return f"over {written(limit)}"
    times = _times(measured, cell)
    if times is None or cell.key[1] == OURS[0].name:
        return written(cell.time.median)
    return f"{written(cell.time.median)} ({ratio(times)})"


def _verdict(measured: Sequence[Cell]) -> str:
    quicker = wins(measured)
    lines = []
    if quicker:
        lines.append("Where another is quicker:")
        for key in dict.fromkeys(cell.key for cell, _ in quicker):
            mine = [(cell, times) for cell, times in quicker if cell.key == key]
            places = sorted({(cell.length, cell.window, cell.shape) for cell, _ in mine})
            named = "; ".join(
                f"{length:,} messages, window {window}, {shape}"
                for length, window, shape in places[:4]
            )
            more = f"; and {len(places) - 4} more" if len(places) > 4 else ""
            lines.append(
                f"- {_joined(key)}: in {len(places)} of "
                f"{sum(cell.key == key for cell in measured)}, at best "
                f"{ratio(1 / min(times for _, times in mine))} as quick ({named}{more})"
            )
    else:
        lines.append("None is quicker anywhere.")
    if left_out := rivals.missing():
        lines.append(f"Not installed, and so not measured: {', '.join(left_out)}.")
    return "\n".join(lines)
