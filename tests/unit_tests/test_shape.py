"""`--shape`: a history without its contents, for a bug report that can be replayed."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    ToolMessage,
    messages_from_dict,
    messages_to_dict,
)

from langchain_mentor_reducer import MentorChatReducer
from langchain_mentor_reducer.__main__ import main
from langchain_mentor_reducer.shape import shape
from tests.unit_tests.histories import any_history, budgets


def verdicts(history: list[BaseMessage], options: dict[str, Any]) -> list[Any]:
    """Tell what becomes of each message, by its place."""
    explained = MentorChatReducer(**options).explain(history)
    return [(v.turn, v.left is v.message, v.left is None, v.reason) for v in explained.verdicts]


@given(any_history(), budgets(trim_to=True))
def test_replays(history: list[BaseMessage], options: dict[str, Any]) -> None:
    """The shape, read back, is cut at the same places for the same reasons."""
    replayed = messages_from_dict(json.loads(json.dumps(shape(history))))
    assert verdicts(replayed, options) == verdicts(history, options)
    assert [len(m.text) for m in replayed] == [len(m.text) for m in history]


SECRET: list[BaseMessage] = [
    HumanMessage("secret", id="secret", name="secret"),
    AIMessage(
        [{"type": "tool_use", "id": "secret", "input": {"secret": 1}, "secret": "secret"}],
        id="secret",
        tool_calls=[{"name": "secret", "args": {"secret": "secret"}, "id": "secret"}],
        additional_kwargs={"secret": "secret", "function_call": {"name": "secret"}},
        response_metadata={"secret": "secret"},
    ),
    ToolMessage("secret", tool_call_id="secret", artifact="secret", status="error"),
]


def test_holds_no_contents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No text, id, name, key or argument gets through, and the command reads what it printed."""
    file = tmp_path / "saved.jsonl"
    file.write_text(json.dumps(messages_to_dict(SECRET)))
    assert main([str(file), "--shape"]) == 0
    printed = capsys.readouterr().out
    assert "secret" not in printed
    assert [m["data"].get("tool_call_id") for m in json.loads(printed)] == [None, None, "call_1"]
    file.write_text(printed * 2)
    assert main([str(file), "--shape"]) == 0
    assert capsys.readouterr().out == printed * 2
