"""What was measured with: the interpreter, the machine's kind, the libraries."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version

LIBRARIES = (
    "langchain-core",
    "langchain",
    "langgraph",
    "langmem",
    "agentstate-reducer",
    "langchain-turn-window",
)


def installed(package: str) -> str | None:
    """Return the version of a package that is installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def versions() -> str:
    """Name what a measurement depends on, in one line."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    libraries = [f"{name} {found}" for name in LIBRARIES if (found := installed(name))]
    return ", ".join([python, machine, *libraries])
