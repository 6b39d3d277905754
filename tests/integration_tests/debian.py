"""Programs from Debian's packages, which these tests run for real."""

import os
import shutil
import subprocess

import pytest


def install(package: str) -> None:
    """Install a package, where that can be done: as root, on a machine that has `apt-get`."""
    if os.geteuid() == 0 and (apt := shutil.which("apt-get")):
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        for words in (["update"], ["install", "--yes", "--no-install-recommends", package]):
            subprocess.run(
                [apt, *words],
                check=False,
                capture_output=True,
                env=environment,
                timeout=500,
            )


def unavailable(program: str, package: str) -> None:
    """Skip, and say why; fail where these tests have to run."""
    why = f"there is no {program} on this machine: apt-get install {package}"
    (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)


def bound_to_us() -> list[str]:
    """Return the words before a server's command that let it end when these tests are killed."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "INT"] if setpriv else []
