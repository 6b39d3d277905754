"""What the package imports, and what it offers."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import langchain_mentor_reducer

EXPECTED_ALL = [
    "MentorChatReducer",
    "MentorChatReducerMiddleware",
    "MentorChatReducerNode",
    "Reduction",
    "bounded_messages",
    "mend_messages",
    "reduce_messages",
]
PACKAGE = Path(langchain_mentor_reducer.__file__).parent


def imported_from(module: str) -> set[str]:
    """Every module that a file of the package names in an import, wherever in the file."""
    names: set[str] = set()
    for node in ast.walk(ast.parse((PACKAGE / f"{module}.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            assert node.module is not None
            names.add(node.module)
    return names


def loaded_after(statement: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after a statement."""
    program = f"import sys\n{statement}\nprint(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return set(run.stdout.split())


def test_all() -> None:
    """The public names are these, and each of them is there."""
    assert sorted(langchain_mentor_reducer.__all__) == EXPECTED_ALL
    for name in EXPECTED_ALL:
        assert getattr(langchain_mentor_reducer, name) is not None


def test_dir_lists_lazy_names() -> None:
    """`dir` shows the names that are loaded only when they are asked for."""
    assert set(EXPECTED_ALL) <= set(dir(langchain_mentor_reducer))


def test_unknown_name() -> None:
    """A name that is not there is an `AttributeError` that says which."""
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = langchain_mentor_reducer.no_such_name


@pytest.mark.parametrize("module", ["budget", "calls", "fold", "mend", "rule", "turns"])
def test_core_imports_messages_only(module: str) -> None:
    """Outside itself and the standard library, the core knows `langchain_core.messages` alone."""
    allowed = {"langchain_core.messages", *sys.stdlib_module_names}
    own = "langchain_mentor_reducer."
    foreign = {
        name
        for name in imported_from(module)
        if not name.startswith((own, "langchain_core.messages."))
        and name not in allowed
        and name.partition(".")[0] not in sys.stdlib_module_names
    }
    assert foreign == set()


def test_import_is_light() -> None:
    """Importing the package loads neither LangGraph nor LangChain."""
    loaded = loaded_after("import langchain_mentor_reducer")
    assert "langchain_mentor_reducer" in loaded
    assert not {"langchain", "langgraph"} & loaded
