"""Runs the notebooks, and tells what in their outputs has to hold.

`make notebooks` runs each anew and compares; `python -m tests.notebooks --write` runs them and
writes what came out. Texts and drawings hold to the letter; of a picture, only that there is one.
"""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def read(path: Path) -> Any:
    """Read a notebook as it stands."""
    return nbformat.read(path, as_version=4)


def run(path: Path) -> Any:
    """Run a notebook in a fresh kernel and return it, tidy, with the outputs of this run."""
    notebook = read(path)
    # Without a key the notebooks take their scripted model, and nothing is traced to anywhere.
    offline = {key: value for key, value in os.environ.items() if not key.endswith("_API_KEY")}
    env = offline | {"LANGSMITH_TRACING": "false", "PYTHONWARNINGS": "default"}
    with TemporaryDirectory() as folder:
        # The kernel is spoken to through files, not ports.
        sockets = Config({"KernelManager": {"transport": "ipc", "ip": f"{folder}/kernel"}})
        client = NotebookClient(
            notebook,
            coalesce_streams=True,
            config=sockets,
            kernel_name="python3",
            record_timing=False,
            resources={"metadata": {"path": str(FOLDER)}},
            timeout=120,
        )
        client.execute(env=env)
    return tidy(notebook)


def tidy(notebook: Any) -> Any:
    """Leave out what differs between two runs, or two machines, and means nothing."""
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for number, cell in enumerate(notebook.cells, 1):
        cell.id = f"cell-{number}"
        cell.metadata = {}
    return notebook


def write(path: Path, notebook: Any) -> None:
    """Write a notebook."""
    nbformat.validate(notebook)
    nbformat.write(notebook, path)


def outputs(notebook: Any) -> list[list[dict[str, Any]]]:
    """List what the code cells show, cell by cell, each picture reduced to its being there."""
    cells = (cell for cell in notebook.cells if cell.cell_type == "code")
    return [[_shown(output) for output in cell.outputs] for cell in cells]


def _shown(output: Any) -> dict[str, Any]:
    if "data" not in output:
        return dict(output)
    data = {kind: "" if kind.startswith("image/") else text for kind, text in output.data.items()}
    if "image/png" in data:
        # It names the size of the figure, which is the picture's.
        del data["text/plain"]
    return {"output_type": output.output_type, "data": data}
