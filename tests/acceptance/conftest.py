"""One run for all tests of this folder, its tables behind the tests' results."""

import os

import pytest
from hypothesis import HealthCheck, settings

from tests.acceptance import cassettes, report, run
from tests.acceptance.cassettes import Recorded
from tests.acceptance.tally import Tally

# The same histories on every run; a slow machine is no finding.
settings.register_profile(
    "acceptance",
    deadline=None,
    derandomize=True,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("acceptance")

TABLES = pytest.StashKey[list[str]]()


@pytest.fixture(scope="session")
def tally(pytestconfig: pytest.Config) -> Tally:
    """The run: a bounded share, or everything with `ACCEPTANCE=full` in the environment."""
    result = run.tallied(full=os.environ.get("ACCEPTANCE") == "full")
    pytestconfig.stash.setdefault(TABLES, []).append(report.markdown(result))
    return result


@pytest.fixture(scope="session")
def recorded(pytestconfig: pytest.Config) -> dict[str, Recorded]:
    """The recorded requests, judged and reduced."""
    with run.unheard():
        result = cassettes.check()
    pytestconfig.stash.setdefault(TABLES, []).append(report.recorded(result))
    return result


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the tables of the run."""
    for table in config.stash.get(TABLES, []):
        terminalreporter.section("acceptance")
        terminalreporter.write_line(table)
