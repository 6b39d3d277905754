"""A PostgreSQL server of the tests' own: a fresh cluster, a socket in it, and its own user."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.integration_tests.debian import bound_to_us, install, unavailable

USER = "postgres"


def _programs() -> Path | None:
    """Find the server's programs, which Debian keeps out of the path."""
    on_path = shutil.which("initdb")
    found = [Path(on_path)] if on_path else sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].resolve().parent if found else None


@contextmanager
def server() -> Iterator[str]:
    """Run a server, and give the address to connect to. It takes no connections from a network."""
    root = os.geteuid() == 0
    if _programs() is None:
        install("postgresql")
    programs = _programs()
    if programs is None:
        unavailable("PostgreSQL", "postgresql")
        return
    user = USER if root else None  # the server refuses to run as root
    with tempfile.TemporaryDirectory(prefix="postgres-") as folder:
        home = Path(folder)
        if root:
            shutil.chown(home, USER, USER)
        options: Any = {"user": user, "cwd": home}
        data = str(home / "data")
        initdb = [str(programs / "initdb"), "--no-sync", "-A", "trust", "-U", USER, "-D", data]
        subprocess.run(initdb, check=True, capture_output=True, **options)
        postgres = [str(programs / "postgres"), "-D", data, "-k", folder, "-c", "listen_addresses="]
        with (home / "log").open("wb") as log:
            command = [*bound_to_us(), *postgres]
            running = subprocess.Popen(command, stdout=log, stderr=log, **options)
        try:
            _wait(programs, home)
            yield f"postgresql:///postgres?host={home}&user={USER}"
        finally:
            running.terminate()
            running.wait(timeout=30)


def _wait(programs: Path, socket: Path) -> None:
    for _ in range(300):
        ready = [str(programs / "pg_isready"), "--quiet", "-h", str(socket)]
        if subprocess.run(ready, check=False).returncode == 0:
            return
        time.sleep(0.1)
    pytest.fail(f"PostgreSQL did not start:\n{(socket / 'log').read_text()}")
