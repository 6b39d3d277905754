"""Try random histories on every property of the rule and of acceptance, for so many seconds.

A history that breaks a property is shrunk and printed, and the run ends with 1.
"""

import argparse
import functools
import logging
import random
import time
import traceback
from collections import Counter
from itertools import cycle
from types import ModuleType
from typing import Any

from hypothesis import (
    is_hypothesis_test,
    seed,
)

from tests.acceptance import test_generated
from tests.unit_tests import test_rule

MODULES = (test_rule, test_generated)


def properties(module: ModuleType) -> dict[str, Any]:
    """The functions of a test module that Hypothesis gives histories to."""
    return {
        f"{module.__name__}.{name}": function
        for name, function in vars(module).items()
        if is_hypothesis_test(function)
    }


def counted(name: str, function: Any, tried: Counter[str]) -> Any:
    """The property, counting the histories it is given."""
    inner = function.hypothesis.inner_test

    @functools.wraps(inner)
    def counting(*args: Any, **kwargs: Any) -> None:
        tried[name] += 1
        inner(*args, **kwargs)

    function.hypothesis.inner_test = counting
    return function


def main() -> int:
    """Go round the properties until the time is up or one is broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long to look")
    parser.add_argument("--seed", type=int, help="begin where another run began")
    options = parser.parse_args()
    start = options.seed if options.seed is not None else random.SystemRandom().getrandbits(32)
    numbers = random.Random(start)
    logging.getLogger("langchain_mentor_reducer").setLevel(logging.ERROR)

    tried: Counter[str] = Counter()
    found = {
        name: counted(name, function, tried)
        for module in MODULES
        for name, function in properties(module).items()
    }
    print(f"{len(found)} properties, seed {start}")
    end = time.monotonic() + options.seconds
    for name, function in cycle(found.items()):
        if time.monotonic() >= end:
            break
        try:
            seed(numbers.getrandbits(32))(function)()
        except Exception as broken:  # noqa: BLE001 - whatever a property raises is a finding
            traceback.print_exception(broken)
            print(f"{name} is broken, after {tried.total():,} histories, seed {start}")
            return 1
    for name, times in tried.items():
        print(f"{times:>9,}  {name}")
    print(f"{tried.total():,} histories tried, no property broken")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
