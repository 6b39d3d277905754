"""Check what `make dist` built: the files, and an example of the README in an empty place."""

import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = "langchain_mentor_reducer"
SDIST = {
    ".gitignore",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "PKG-INFO",
    "README.md",
    "constraints.txt",
    "docs",
    "notebooks",
    "pyproject.toml",
    "scripts",
    "tests",
    PACKAGE,
}


def only(pattern: str) -> Path:
    """The one file in `dist` that matches."""
    (path,) = (ROOT / "dist").glob(pattern)
    return path


def check_files(wheel: Path, sdist: Path) -> None:
    """Refuse an archive that lacks something or holds anything else."""
    with zipfile.ZipFile(wheel) as archive:
        files = set(archive.namelist())
    sources = {
        str(path.relative_to(ROOT))
        for path in (ROOT / PACKAGE).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    inside = {name for name in files if name.partition("/")[0] == PACKAGE}
    metadata = {name for name in files - inside if ".dist-info/" in name}
    if inside != sources or inside | metadata != files:
        sys.exit(f"{wheel.name} differs from the package in {sorted((files - metadata) ^ sources)}")
    with tarfile.open(sdist) as archive:
        tops = {name.split("/")[1] for name in archive.getnames() if "/" in name}
    if tops != SDIST:
        sys.exit(f"{sdist.name} differs from what was expected in {sorted(tops ^ SDIST)}")
    print(f"{wheel.name}: {len(inside)} files and its metadata; {sdist.name}: {len(tops)} entries")


def run_example(wheel: Path) -> None:
    """Run the README's example that checks itself where nothing but the wheel is installed."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    example = next((block for block in blocks if "\nassert " in block), None)
    if example is None:
        sys.exit("README.md has no Python block with an assert")
    uv = ROOT / ".venv/bin/uv"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, folder], check=True)
        python = Path(folder) / "bin/python"
        install: list[str | Path] = [uv, "pip", "install", "--quiet", "--python", python]
        constraints: list[str | Path] = ["--constraint", ROOT / "constraints.txt"]
        subprocess.run([*install, *constraints, f"{wheel}[agents]"], check=True)
        print(f"The README's example, with {wheel.name} in an empty environment:", flush=True)
        # -I: neither the working directory nor a variable may lead to the source tree.
        subprocess.run([python, "-I", "-W", "error", "-c", example], check=True, cwd=folder)


if __name__ == "__main__":
    check_files(only("*.whl"), only("*.tar.gz"))
    run_example(only("*.whl"))
