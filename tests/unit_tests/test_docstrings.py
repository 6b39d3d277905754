"""Every example in the package's docstrings runs, each on its own."""

from pathlib import Path

import pytest
from sybil import Example, Sybil
from sybil.document import PythonDocStringDocument
from sybil.parsers.markdown import PythonCodeBlockParser

import langchain_mentor_reducer

PACKAGE = Path(langchain_mentor_reducer.__file__).parent
SYBIL = Sybil(parsers=[PythonCodeBlockParser()], document_types={".py": PythonDocStringDocument})
EXAMPLES = [example for path in sorted(PACKAGE.glob("*.py")) for example in SYBIL.parse(path)]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: f"{Path(e.path).name}:{e.line}")
def test_example(example: Example) -> None:
    """The example runs as it stands, with nothing left over from another."""
    example.document.namespace.clear()
    example.evaluate()


@pytest.mark.parametrize("name", langchain_mentor_reducer.__all__)
def test_public_names_have_one(name: str) -> None:
    """Whatever the package offers is shown in use where it is defined."""
    assert "```python\n" in (getattr(langchain_mentor_reducer, name).__doc__ or "")
