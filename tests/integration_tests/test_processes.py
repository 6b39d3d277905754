"""The package in processes of its own: as a command, and imported by a fresh interpreter."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit_tests.test_imports import EXPECTED_ALL, loaded_after


def test_as_a_command() -> None:
    """It runs as `python -m`."""
    command = [sys.executable, "-m", "langchain_mentor_reducer"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("messages in, 7 out.\n")
    assert done.stderr == ""


def test_what_no_terminal_can_show(tmp_path: Path) -> None:
    """Half a character, as broken clients save it, is shown by its number."""
    file = tmp_path / "chat.json"
    file.write_text(json.dumps([{"role": "user", "content": "\ud83d"}]))
    command = [sys.executable, "-m", "langchain_mentor_reducer", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "\\ud83d" in done.stdout


def test_others_without_langchain() -> None:
    """Without langchain the other faces work as ever."""
    program = (
        "import sys; sys.modules['langchain'] = None\n"
        "from langchain_mentor_reducer import MentorChatReducerNode, bounded_messages\n"
        "print(MentorChatReducerNode(9).invoke({'messages': []}), bounded_messages(9).get())"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert run.stdout == "{'llm_input_messages': []} []\n", run.stderr


@pytest.mark.parametrize("name", EXPECTED_ALL)
def test_each_name_alone(name: str) -> None:
    """Each public name can be the first one imported, without a warning."""
    loaded = loaded_after(f"from langchain_mentor_reducer import {name}")
    if name in {"MentorChatReducer", "Reduction", "mend_messages", "reduce_messages"}:
        assert not {"langchain", "langgraph"} & loaded
