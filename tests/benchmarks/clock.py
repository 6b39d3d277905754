"""How long a call takes: contenders in turn, in one process, so that a slow minute hits all.

The garbage collector is off while the clock runs, as in `timeit`; it collects between the
contenders, each of which finds the same heap.
"""

import gc
import signal
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from statistics import median
from time import perf_counter
from timeit import Timer
from types import FrameType
from typing import NoReturn

Call = Callable[[], object]

BATCH = 2e-3
"""The least seconds between two looks at the clock; short calls are repeated for as long. It is
long enough for the caches of the processor, which the collector empties, to fill again: else a
call of many microseconds would mostly be measured cold, and one of a few mostly warm."""


@dataclass(frozen=True)
class Timing:
    """Seconds a call."""

    median: float
    least: float


class OverLimitError(BaseException):
    """A call took longer than it may; no contender catches this."""


def measure(
    contenders: Mapping[str, Call],
    *,
    seconds: float,
    limit: float,
    unlimited: Collection[str] = (),
    rounds: int = 200,
) -> dict[str, Timing | None]:
    """Time every contender, interleaved.

    Args:
        contenders: What is called, by name.
        seconds: About how long each contender is timed, 3 times at least.
        limit: The most seconds that one call may take.
        unlimited: Names to which the limit does not apply.
        rounds: The most times that each contender is timed.

    Returns:
        The time of a call by name; None where one went over the limit.
    """
    times: dict[str, list[float]] = {}
    number: dict[str, int] = {}
    repeats: dict[str, int] = {}
    timers = {name: Timer(call) for name, call in contenders.items()}
    with _frozen():
        for name, call in contenders.items():
            first = _first(call, inf if name in unlimited else limit)
            if first is None:
                continue
            number[name] = max(1, int(BATCH / first))
            repeats[name] = max(3, min(rounds, int(seconds / first / number[name])))
            times[name] = []
        most = max(repeats.values(), default=0)
        for turn in range(most):
            names = list(times)
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                # Spreads the few repeats of a slow one evenly over the many of a quick one.
                if turn * repeats[name] % most < repeats[name]:
                    gc.collect()
                    times[name].append(timers[name].timeit(number[name]) / number[name])
    return {
        name: Timing(median(times[name]), min(times[name])) if name in times else None
        for name in contenders
    }


def _first(call: Call, limit: float) -> float | None:
    """Call twice, for the first call alone may pay for something; once is enough of a slow one."""
    took = 0.0
    try:
        with _at_most(limit):
            for _ in range(2):
                if took < 0.1:
                    start = perf_counter()
                    call()
                    took = perf_counter() - start
    except OverLimitError:
        return None
    return max(took, 1e-7)


@contextmanager
def _frozen() -> Iterator[None]:
    """Set what exists aside, so that collecting costs what a contender left behind alone."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    def over(_signal: int, _frame: FrameType | None) -> NoReturn:
        raise OverLimitError

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds if seconds < inf else 0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def written(seconds: float) -> str:
    """Write a time with its unit, to three digits or so."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{_digits(seconds / size)} {unit}"
    return f"{_digits(seconds / 1e-6)} µs"


def ratio(times: float) -> str:
    """Write how many times one is another."""
    return f"{_digits(times)}x" if times >= 0.1 else f"1/{1 / times:,.0f}"


def _digits(number: float) -> str:
    return f"{number:,.{0 if number >= 100 else 1 if number >= 10 else 2}f}"
