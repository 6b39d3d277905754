"""What the notebooks show still holds."""

from pathlib import Path
from typing import Any

import pytest

from tests.notebooks import NOTEBOOKS, outputs, read, run, tidy

NAMES = {"broken_thread", "chains", "langgraph_agents", "prompt_cache", "quickstart"}


def test_all_are_here() -> None:
    """None is left out."""
    assert {path.stem for path in NOTEBOOKS} == NAMES


@pytest.fixture(scope="module", params=NOTEBOOKS, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    """Name one of the notebooks."""
    return Path(request.param)


def test_is_tidy(path: Path) -> None:
    """It is stored with its outputs, in order, and without what a run leaves by chance."""
    notebook = read(path)
    assert notebook == tidy(read(path))
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))


def test_outputs_hold(path: Path) -> None:
    """Run anew, every cell shows the same texts and drawings, and no warning."""
    shown = outputs(run(path))
    assert any(shown)
    assert not [output for cell in shown for output in cell if output.get("name") == "stderr"]
    assert shown == outputs(read(path)), "to keep this run: python -m tests.notebooks --write"


def test_a_picture_may_differ_and_nothing_else(path: Path) -> None:
    """The comparison sees each text and drawing, and no more of a picture than that it is one."""
    stored = outputs(read(path))
    for cell, output, kind in _texts(read(path)):
        changed = read(path)
        of = changed.cells[cell].outputs[output]
        if kind == "stream":
            of.text += "."
        else:
            of.data[kind] += "."
        assert (outputs(changed) == stored) == kind.startswith("image/")


def _texts(notebook: Any) -> list[tuple[int, int, str]]:
    """List each text, drawing and picture, by cell, output and kind."""
    return [
        (i, j, kind)
        for i, cell in enumerate(notebook.cells)
        for j, output in enumerate(cell.get("outputs", []))
        for kind in output.get("data", {"stream": ""})
        if "image/png" not in output.get("data", {}) or kind.startswith("image/")
    ]
