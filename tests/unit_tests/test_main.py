"""`python -m langchain_mentor_reducer`: what people see, and what a wrong file gets."""

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import convert_to_messages, messages_to_dict

from langchain_mentor_reducer.__main__ import main

CHAT = [
    {"role": "user", "content": "One?"},
    {"role": "assistant", "content": "1"},
    {"role": "user", "content": "Two?"},
]
DUMPED = messages_to_dict(convert_to_messages(CHAT))


def lines(data: list[Any]) -> str:
    """Write JSON Lines."""
    return "".join(json.dumps(item) + "\n" for item in data)


def test_shipped_conversation(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a file the shipped conversation is shown: before, after and why."""
    assert main([]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[1] == "-   1  human  Good morning! Is the lighthouse open today?  [older turn]"
    assert out[19] == "+  19  ai     The second leaves at 19:10, from the west pier."
    assert "Kept 6 of 19 messages, 2 of 5 turns (max_messages 6 of 8)." in out
    assert out[-1] == "1 conversation: 20 messages in, 7 out."


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(CHAT),
        "\ufeff" + json.dumps(CHAT, indent=2),
        json.dumps(DUMPED),
        json.dumps({"messages": CHAT, "id": "x"}),
        json.dumps(CHAT) + "\n",
    ],
    ids=["list", "byte order mark", "messages_to_dict", "object", "one line"],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gz"])
def test_one_conversation(
    text: str, pack: Callable[[bytes], bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file may hold a conversation in either form, gzipped or not."""
    file = tmp_path / "chat.json"
    file.write_bytes(pack(text.encode()))
    assert main([str(file), "--max-messages", "1"]) == 0
    assert capsys.readouterr().out.endswith("\n1 conversation: 3 messages in, 1 out.\n")


def test_many_conversations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With JSON Lines each conversation has a line, and the last line counts."""
    file = tmp_path / "chats.jsonl"
    file.write_text(lines([CHAT, {"messages": CHAT}, [], DUMPED]) + "\n")
    assert main([str(file), "--max-turns", "1"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "     1  Kept 1 of 3 messages, 1 of 2 turns (max_turns 1 of 1)."
    assert out[-1] == "4 conversations: 9 messages in, 3 out."
    assert len(out) == 5


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--json` gives a machine an object for each conversation, and nothing else."""
    file = tmp_path / "chats.jsonl"
    file.write_text(lines([CHAT, CHAT]))
    options = ["--max-messages", "2", "--max-tokens", "99", "--overflow", "keep", "--trim-to", "1"]
    assert main([str(file), "--json", *options]) == 0
    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert first == second
    assert first["limits"] == {"max_messages": 2, "max_tokens": 99}
    assert first["before"]["messages"] == 3
    assert first["after"]["turns"] == 1
    assert not first["overflowed"]
    assert not first["newest_turn_cut"]
    assert first["messages"][2] == {
        "index": 2,
        "turn": 2,
        "kept": True,
        "whole": True,
        "reason": "recent turn",
        "repair": None,
        "added": False,
    }


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"{", "not JSON: "),
        (b"[]\n{\n", "line 2: JSONDecodeError: "),
        (b"3", "expected a list of messages"),
        (b'{"message": []}', "expected a list of messages"),
        (b'["Hello"]', "expected a list of messages, each a JSON object"),
        (b"[]\n[3]\n", "line 2: expected a list of messages"),
        (b'[{"role": "wizard", "content": ""}]', "wizard"),
        (b'[{"content": "no role"}]', "role"),
        (b'[{"type": "wizard", "data": {}}]', "wizard"),
        (b'[{"type": "human", "data": 3}]', "Error: "),
        (b'[{"role": "tool", "content": ""}]', "tool_call_id"),
        (b'[{"type": "remove", "data": {"id": "1", "content": ""}}]', "Error: "),
        (b"\xff\xfe\x00", "UnicodeDecodeError: "),
        (b"\x1f\x8b\x08 damaged", "EOFError: "),
        (gzip.compress(b"[]" * 99)[:-9], "EOFError: "),
        (b"[" * 100_000, "not JSON: "),
    ],
    ids=range(18),
)
def test_wrong_file(
    data: bytes, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong file gets one clear line and exit code 2, whatever is wrong with it."""
    file = tmp_path / "wrong"
    file.write_bytes(data)
    assert main([str(file)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"{file}: ")
    assert why in err
    assert err.count("\n") == 1


def test_no_such_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is not there, or is a folder, is said."""
    assert main([str(tmp_path / "none")]) == 2
    assert main([str(tmp_path)]) == 2
    missing, folder = capsys.readouterr().err.splitlines()
    assert missing.endswith("none: No such file or directory")
    assert folder.endswith("Is a directory")


def test_wrong_option(capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong option gets one line and exit code 2 as well."""
    assert main(["--max-messages", "0"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("max_messages: Value error, must be a whole number of at least 1")
    assert err.count("\n") == 1


def test_newest_step_that_may_not_overflow(capsys: pytest.CaptureFixture[str]) -> None:
    """The rule's own refusal is a line too, without a file's name where there is no file."""
    assert main(["--max-tokens", "1", "--overflow", "error"]) == 2
    assert capsys.readouterr().err.startswith("OverBudgetError: The newest step does not fit")


def test_reader_that_stops_early() -> None:
    """A reader that has seen enough is no error."""
    command = [sys.executable, "-m", "langchain_mentor_reducer"]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=True)
    os.close(writer)
    assert done.stderr == ""
