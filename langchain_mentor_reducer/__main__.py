"""`python -m langchain_mentor_reducer`: what would be kept of a saved conversation."""

import argparse
import gzip
import json
import os
import sys
import zlib
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from textwrap import shorten
from typing import Any

from langchain_core.messages import convert_to_messages, messages_from_dict
from pydantic import ValidationError

from langchain_mentor_reducer.html import page
from langchain_mentor_reducer.report import Reduction, Verdict
from langchain_mentor_reducer.runnable import MentorChatReducer

MAX_MESSAGES = 8
"""The budget where none is given: small enough to cut the conversation that is shipped."""


class UnreadableError(Exception):
    """The file holds no conversations; the text says why."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    given = vars(_parser().parse_args(arguments))
    file, as_json, picture = given.pop("file"), given.pop("json"), given.pop("html")
    options = {name: value for name, value in given.items() if value is not None}
    if options.keys().isdisjoint({"max_messages", "max_turns", "max_tokens"}):
        options["max_messages"] = MAX_MESSAGES
    try:
        reducer = MentorChatReducer(**options)
        reductions = [_reduce(reducer, *saved) for saved in _conversations(_read(file))]
    except UnreadableError as error:
        return _refuse(f"{file}: {error}" if file else str(error))
    except ValidationError as error:
        wrong = [": ".join([*map(str, e["loc"]), e["msg"]]) for e in error.errors()]
        return _refuse("; ".join(wrong))
    if picture:
        try:
            picture.write_text(page(reductions), "utf-8", errors="xmlcharrefreplace")
        except OSError as error:
            return _refuse(f"{picture}: {error.strerror}")
    for line in _json_lines(reductions) if as_json else _text_lines(reductions):
        print(line)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m langchain_mentor_reducer",
        description="Show what would be kept of a saved conversation, and why.",
    )
    parser.add_argument(
        "file",
        nargs="?",
        type=Path,
        help="a JSON list of messages, JSON Lines with a conversation a line, or either "
        "gzipped; messages as OpenAI-style dicts or as `messages_to_dict` writes them "
        "(default: a conversation that comes with the package)",
    )
    parser.add_argument(
        "--max-messages",
        type=int,
        metavar="N",
        help=f"the most messages to keep (default, without another budget: {MAX_MESSAGES})",
    )
    parser.add_argument("--max-turns", type=int, metavar="N", help="the most turns to keep")
    parser.add_argument("--max-tokens", type=int, metavar="N", help="the most tokens to keep")
    parser.add_argument("--overflow", choices=["trim", "keep", "error"])
    parser.add_argument("--trim-to", type=float, metavar="SHARE", help="how far a cut goes down")
    parser.add_argument("--html", type=Path, metavar="OUT", help="draw it as a page, too")
    parser.add_argument("--json", action="store_true", help="a JSON object for each conversation")
    return parser


def _refuse(why: str) -> int:
    print(" ".join(why.split()), file=sys.stderr)
    return 2


def _read(file: Path | None) -> str:
    try:
        if file is None:
            return (
                resources.files("langchain_mentor_reducer")
                .joinpath("conversation.json")
                .read_text("utf-8")
            )
        data = file.read_bytes()
        return (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8-sig")
    except UnicodeDecodeError:
        msg = "not a text file in UTF-8"
        raise UnreadableError(msg) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        msg = f"damaged gzip data: {error}"
        raise UnreadableError(msg) from None
    except OSError as error:
        raise UnreadableError(error.strerror) from None


def _conversations(text: str) -> Iterator[tuple[str, Any]]:
    """Split a file into conversations, each with a name for errors."""
    try:
        yield "", _parse(text)
    except UnreadableError:
        lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
        if len(lines) < 2:  # noqa: PLR2004 - one line is no JSON Lines
            raise
        for number, line in lines:
            yield f"line {number}: ", _parse(line, f"line {number} is ")


def _parse(text: str, where: str = "") -> Any:
    if not text.strip():
        msg = "empty"
        raise UnreadableError(msg)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        msg = f"{where}not JSON: {error}"
        raise UnreadableError(msg) from None


def _reduce(reducer: MentorChatReducer, where: str, saved: Any) -> Reduction:
    if isinstance(saved, dict):
        saved = saved.get("messages")
    if not isinstance(saved, list) or not all(isinstance(m, dict) for m in saved):
        msg = f"{where}expected a list of messages, each a JSON object"
        raise UnreadableError(msg)
    try:
        dumped = all(m.keys() >= {"type", "data"} for m in saved)
        messages = messages_from_dict(saved) if dumped else convert_to_messages(saved)
        return reducer.explain(messages)
    except Exception as error:  # noqa: BLE001 - whatever is wrong with a file is one line
        msg = f"{where}{type(error).__name__}: {error}"
        raise UnreadableError(msg) from None


def _text_lines(reductions: list[Reduction]) -> Iterator[str]:
    if len(reductions) == 1:
        for verdict in reductions[0].verdicts:
            yield _message_line(verdict)
        yield ""
        yield str(reductions[0])
    else:
        for number, reduction in enumerate(reductions, 1):
            yield f"{number:>6}  {str(reduction).splitlines()[0]}"
    count = "1 conversation" if len(reductions) == 1 else f"{len(reductions)} conversations"
    seen, kept = (
        sum(len(getattr(reduction, part)) for reduction in reductions)
        for part in ("verdicts", "kept")
    )
    yield f"{count}: {seen} messages in, {kept} out."


def _message_line(verdict: Verdict) -> str:
    message = verdict.message
    mark = "-" if verdict.left is None else "+" if verdict.left is message else "~"
    calls = "".join(f" {call['name']}()" for call in getattr(message, "tool_calls", []))
    text = " ".join(message.text.split())
    why = f"  [{verdict.reason}]" if mark != "+" else ""
    return f"{mark} {verdict.index:>3}  {message.type:<7}{shorten(text + calls, 60)}{why}"


def _json_lines(reductions: list[Reduction]) -> Iterator[str]:
    for reduction in reductions:
        yield json.dumps(
            {
                "before": reduction.before._asdict(),
                "after": reduction.after._asdict(),
                "limits": reduction.limits,
                "newest_turn_cut": reduction.newest_turn_cut,
                "overflowed": reduction.overflowed,
                "messages": [
                    {
                        "index": verdict.index,
                        "turn": verdict.turn,
                        "kept": verdict.left is not None,
                        "whole": verdict.left is verdict.message,
                        "reason": verdict.reason,
                    }
                    for verdict in reduction.verdicts
                ],
            }
        )


if __name__ == "__main__":
    # A conversation may hold what a terminal cannot show.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        sys.exit(main())
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
