"""What the integration tests share."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration_tests.postgres import server

os.environ["LANGSMITH_TRACING"] = "false"


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL server."""
    with server() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database to keep threads in, empty."""
    if request.param == "sqlite":
        return str(tmp_path / "threads.sqlite")
    address: str = request.getfixturevalue("postgres")
    return address
