"""Run the wheel on each Python found, with the lowest and the newest versions that it claims.

What could not be found is named, and counts as not checked, never as passed.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from email.parser import Parser
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
UV = ROOT / ".venv/bin/uv"
PYTHONS = ("3.11", "3.12", "3.13")
SHOWN = ("langchain-core", "langgraph", "langchain")


def find_python(version: str) -> Path | None:
    """A working interpreter of this version: on the path, or one of pyenv's."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    on_path = shutil.which(f"python{version}")
    candidates = [*sorted((pyenv / "versions").glob(f"{version}.*/bin/python"))]
    if on_path:
        candidates.insert(0, Path(on_path))
    test = f"import sys; sys.exit('%d.%d' % sys.version_info[:2] != '{version}')"
    for candidate in candidates:
        # One of pyenv's shims may be on the path and lead nowhere.
        if (
            subprocess.run([candidate, "-c", test], check=False, capture_output=True).returncode
            == 0
        ):
            return candidate
    return None


def claims(wheel: Path, extra: str) -> list[str]:
    """What the wheel asks for, as direct requirements, so that the lowest can be taken."""
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        headers = Parser().parsestr(archive.read(metadata).decode())
    found: list[str] = []
    for header in headers.get_all("Requires-Dist", []):
        requirement = Requirement(header)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            found.append(f"{requirement.name}{requirement.specifier}")
    return found


def check(python: Path, wheel: Path, extra: str, resolution: str) -> tuple[str, str]:
    """Install into an empty environment and run the smoke test: the versions, and how it went."""
    with tempfile.TemporaryDirectory() as folder:
        inside = Path(folder) / "bin/python"
        pip: list[str | Path] = [
            UV,
            "pip",
            "install",
            "--quiet",
            "--python",
            inside,
            "--resolution",
            resolution,
        ]
        steps: tuple[list[str | Path], ...] = (
            [UV, "venv", "--quiet", "--python", python, folder],
            [*pip, f"{wheel}[{extra}]" if extra else wheel, *claims(wheel, extra)],
            [inside, "-I", ROOT / "scripts/smoke.py", extra],
        )
        for step in steps:
            run = subprocess.run(step, check=False, capture_output=True, text=True, cwd=folder)
            if run.returncode != 0:
                return "", f"FAILED\n{run.stdout}{run.stderr}"
        names = SHOWN if extra else SHOWN[:2]
        query = f"from importlib.metadata import version; print(*map(version, {names}))"
        versions = subprocess.check_output([inside, "-I", "-c", query], text=True)
        return versions, "passed"


def main() -> None:
    """Print a row for each combination; fail if one fails."""
    (wheel,) = (ROOT / "dist").glob("*.whl")
    row = "{:8} {:8} {:8} {:16} {:11} {:11} {}".format
    print(wheel.name)
    print(row("Python", "versions", "extra", *SHOWN, ""))
    passed = failed = 0
    missing: list[str] = []
    for version in PYTHONS:
        python = find_python(version)
        if python is None:
            missing.append(version)
            continue
        for extra in ("", "agents"):
            for resolution, name in (("lowest-direct", "lowest"), ("highest", "newest")):
                versions, result = check(python, wheel, extra, resolution)
                shown = [*versions.split(), "-", "-", "-"][:3]
                print(row(version, name, extra or "-", *shown, result), flush=True)
                passed += result == "passed"
                failed += result != "passed"
    print(f"not found, so not checked: Python {', '.join(missing) or '- (all found)'}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0 or passed == 0)


if __name__ == "__main__":
    main()
