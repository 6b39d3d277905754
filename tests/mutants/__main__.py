"""Try every mutant of the core on the tests, and name those that no test noticed.

Each mutant has a process of its own, forked when all is imported and collected. Random histories
are drawn once, before that: some for each property that is tested, and many more to compare with
what the second reading of the rule keeps of them.

A survivor that `explained.toml` gives a reason for is accepted. The run ends with 1 if there is
another, or if a reason is no longer needed.
"""

import argparse
import ast
import functools
import gc
import importlib
import os
import resource
import signal
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import Phase, example, given, is_hypothesis_test, settings
from hypothesis import strategies as st

from tests.mutants.mutants import mutants_of
from tests.unit_tests.histories import drawing, drawn

PACKAGE = "langchain_mentor_reducer"
MODULES = ("calls", "turns", "pairs", "window", "outline", "tokens", "rule", "fold", "mend")
TESTS = [
    f"tests/unit_tests/test_{name}.py"
    for name in ("calls", "turns", "rule", "trim_to", "tokens", "mend", "report", "mend_option")
]
SELECTION = (
    "not real_conversations and not reported_cases and not second_reading"
    " and (not one_linear_pass or all) and (not does_not_depend or (None and list))"
)
"""Not the tests of real data, which is not everywhere, nor what is compared here anyway; and few of
those that take long."""
COMPARED = 1000
"""Histories that are reduced and compared, for each of two sets of options."""
REPLAYED = 25
"""Histories for each property."""
PATIENCE = 3
"""Seconds of processor time for one test, of which the slowest takes one."""
ROOM = 4 << 30
"""Bytes of memory for one mutant."""
MANY = 255
"""The highest status that a process can end with."""


def drawn_cases() -> list[tuple[Any, Any, Any]]:
    """Draw histories and options, each with what the second reading keeps."""
    rule = importlib.import_module("tests.unit_tests.test_rule")
    options = [
        rule.budgets(tokens=rule.letters, overflow=True),
        rule.budgets(tokens=rule.letters_of, overflow=True, trim_to=True),
    ]
    return [
        (history, chosen, rule.outcome(rule.second_reading, history, chosen))
        for each in options
        for history, chosen in drawn(st.tuples(rule.any_history(), each), COMPARED)
    ]


def install(module: ModuleType, tree: ast.Module) -> None:
    """Run a changed module in the place of the one that is loaded, for whoever imported from it."""
    before = dict(vars(module))
    exec(compile(ast.fix_missing_locations(tree), module.__name__, "exec"), vars(module))
    for name, other in list(sys.modules.items()):
        if name.startswith((PACKAGE, "tests.")):
            for key, value in before.items():
                if vars(other).get(key) is value:
                    setattr(other, key, vars(module)[key])


Check = Callable[[], bool]
"""A test: whether it passes."""

Trial = tuple[str, list[Check]]
"""A mutant in its process: its name, and the tests in the order in which they are tried."""


class Mutants:
    """A plugin for pytest that runs the collected tests once for each mutant."""

    def __init__(self, wanted: str) -> None:
        self.wanted = wanted
        self.survivors: list[str] = []
        self.killed: list[str] = []
        self.checks: list[Check] = []

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try the tests without a change, then with each."""
        session.config.pluginmanager.unregister(name="terminalreporter")
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        took: dict[Check, float] = {}
        for check in [self.drawn(drawn_cases()), *self.collected(session)]:
            start = time.process_time()
            if not check():
                print("A test fails without a mutant.")
                pytest.exit(returncode=1)
            took[check] = time.process_time() - start
        self.checks = sorted(took, key=took.__getitem__)
        gc.freeze()  # so that no process copies what all share
        running: dict[int, Trial] = {}
        for module in MODULES:
            loaded = importlib.import_module(f"{PACKAGE}.{module}")
            tree = ast.parse(Path(str(loaded.__file__)).read_text(encoding="utf-8"))
            # The first is no mutant: the module as it is, which no test may find fault with.
            for name in chain([module], mutants_of(module, tree)):
                if self.wanted in name or name == module:
                    if len(running) == os.cpu_count():
                        self.wait(running)
                    running[self.fork(loaded, tree)] = name, self.checks.copy()
        while running:
            self.wait(running)
        return True

    def collected(self, session: pytest.Session) -> Iterator[Check]:
        """Make a check of each collected test."""

        def passes(item: pytest.Item) -> bool:
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
            return session.testsfailed == 0

        for item in session.items:
            function = getattr(item, "obj", None)
            if is_hypothesis_test(function):
                yield self.replayed(function)
            else:
                yield functools.partial(passes, item)

    def replayed(self, function: Any) -> Check:
        """Make one check of a property and the examples that are drawn for it now."""
        inner = function.hypothesis.inner_test
        examples: list[dict[str, Any]] = []

        @functools.wraps(inner)
        def note(**drawn: Any) -> None:
            inner(**drawn)
            examples.append(drawn)

        function.hypothesis.inner_test = note
        drawing(REPLAYED)(function)()

        replay = given(**dict.fromkeys(examples[0], st.none()))(inner)
        for kept in examples:
            replay = example(**kept)(replay)
        replay = settings(phases=[Phase.explicit], database=None, deadline=None)(replay)

        def holds() -> bool:
            replay()
            return True

        return holds

    def drawn(self, cases: list[tuple[Any, Any, Any]]) -> Check:
        """Make one check of all histories that were drawn."""
        rule = importlib.import_module("tests.unit_tests.test_rule")

        def agrees() -> bool:
            return all(rule.outcome(rule.first_reading, h, o) == kept for h, o, kept in cases)

        return agrees

    def fork(self, module: ModuleType, tree: ast.Module) -> int:
        """Try the tests on a mutant, in a process that ends with 0 if none notices it."""
        if pid := os.fork():
            return pid
        noticed = MANY
        try:
            resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))
            silence = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silence, 1)
            os.dup2(silence, 2)
            signal.setitimer(signal.ITIMER_PROF, PATIENCE)
            install(module, tree)
            for number, check in enumerate(self.checks, 1):
                noticed = min(number, MANY)
                signal.setitimer(signal.ITIMER_PROF, PATIENCE)
                if not check():
                    break
            else:
                noticed = 0
        finally:
            os._exit(noticed)  # an error that a check let through is a finding, too

    def wait(self, running: dict[int, Trial]) -> None:
        """Wait for one mutant."""
        pid, status = os.wait()
        name, checks = running.pop(pid)
        if name in MODULES:
            if status:
                print(f"A test fails on {name}.py as it is.")
                pytest.exit(returncode=1)
        elif status:
            self.killed.append(name)
        else:
            self.survivors.append(name)
        # What noticed one mutant will most often notice the next, so try it first.
        if os.WIFEXITED(status) and 0 < (number := os.WEXITSTATUS(status)) < MANY:
            self.checks.remove(checks[number - 1])
            self.checks.insert(0, checks[number - 1])


def main() -> int:
    """Try the mutants and compare the survivors with those that are explained."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("wanted", nargs="?", default="", help="a part of the names of some mutants")
    mutants = Mutants(parser.parse_args().wanted)
    # Hypothesis is imported by now, and nothing in it is to be rewritten.
    unwarned = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    quiet = ["-qq", "--tb=no", "-p", "no:cacheprovider", *unwarned]
    code = pytest.main([*quiet, "-k", SELECTION, *TESTS], plugins=[mutants])
    if code:
        return int(code)
    path = Path(__file__).parent / "explained.toml"
    groups = tomllib.loads(path.read_text(encoding="utf-8"))["explained"]
    explained = {name for group in groups for name in group["mutants"] if mutants.wanted in name}
    survivors = set(mutants.survivors)
    for name in sorted(survivors - explained):
        print(f"survived: {name}")
    for name in sorted(explained - survivors):
        print(f"explained, but noticed by a test or gone: {name}")
    print(
        f"{len(mutants.killed) + len(survivors)} mutants, {len(mutants.killed)} killed, "
        f"{len(survivors & explained)} explained, {len(survivors - explained)} survived"
    )
    return int(survivors != explained)


if __name__ == "__main__":
    raise SystemExit(main())
