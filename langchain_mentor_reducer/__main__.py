"""`python -m langchain_mentor_reducer`: what would be kept of a saved conversation."""

import argparse
import gzip
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from textwrap import shorten
from typing import Any

from langchain_core.messages import BaseMessage, convert_to_messages, messages_from_dict
from pydantic import ValidationError

from langchain_mentor_reducer.html import page
from langchain_mentor_reducer.report import MARKS, Reduction, Verdict, fate
from langchain_mentor_reducer.runnable import MentorChatReducer
from langchain_mentor_reducer.shape import shape

MAX_MESSAGES = 8  # where no budget is given: small enough to cut the conversation that is shipped
NO_CUT = 1_000_000  # where mending alone is asked for


class RefusedError(Exception):
    """What was asked for cannot be done; the text says why."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    given = vars(_parser().parse_args(arguments))
    file, form, picture = given.pop("file"), given.pop("form"), given.pop("html")
    options = {name: value for name, value in given.items() if value is not None}
    if options.keys().isdisjoint({"max_messages", "max_turns", "max_tokens"}):
        options["max_messages"] = NO_CUT if options.get("mend") else MAX_MESSAGES
    try:
        print(*_lines(file, form, picture, options), sep="\n")
    except ValidationError as error:
        why = "; ".join(": ".join([*map(str, e["loc"]), e["msg"]]) for e in error.errors())
    except RefusedError as error:
        why = str(error)
    else:
        return 0
    print(" ".join(why.split()), file=sys.stderr)
    return 2


def _lines(
    file: Path | None, form: str | None, picture: Path | None, options: dict[str, Any]
) -> list[str]:
    conversations = list(_conversations(file))
    if form == "shape":
        return [json.dumps(shape(messages)) for _, messages in conversations]
    reducer, reductions = MentorChatReducer(**options), []
    for where, messages in conversations:
        with _refusing(where):
            reductions.append(reducer.explain(messages))
    if picture:
        with _refusing(f"{picture}: "):
            picture.write_text(page(reductions), "utf-8", errors="xmlcharrefreplace")
    return [*map(_json, reductions)] if form == "json" else [*_text_lines(reductions)]


@contextmanager
def _refusing(where: str) -> Iterator[None]:
    """Make one line of whatever is wrong with a file."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - whatever is wrong with a file is one line
        msg = f"{where}{getattr(error, 'strerror', None) or f'{type(error).__name__}: {error}'}"
        raise RefusedError(msg) from None


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
    for unit in ("messages", "turns", "tokens"):
        default = f" (default, without another budget: {MAX_MESSAGES})" * (unit == "messages")
        budget = f"the most {unit} to keep{default}"
        parser.add_argument(f"--max-{unit}", type=int, metavar="N", help=budget)
    parser.add_argument("--overflow", choices=["trim", "keep", "error"])
    parser.add_argument("--trim-to", type=float, metavar="SHARE", help="how far a cut goes down")
    mend = "mend a conversation that arrived broken; without a budget, cut nothing"
    parser.add_argument("--mend", action="store_const", const=True, help=mend)
    parser.add_argument("--html", type=Path, metavar="OUT", help="draw it as a page, too")
    form = parser.add_mutually_exclusive_group()
    for flag, text in (
        ("json", "a JSON object for each conversation"),
        ("shape", "the messages without their contents, for a bug report"),
    ):
        form.add_argument(f"--{flag}", dest="form", action="store_const", const=flag, help=text)
    return parser


def _conversations(file: Path | None) -> Iterator[tuple[str, list[BaseMessage]]]:
    """Read conversations, each with where it stands, for errors."""
    name = f"{file}: " if file else ""
    shipped = resources.files("langchain_mentor_reducer").joinpath("conversation.json")
    with _refusing(name):
        data = (file or shipped).read_bytes()
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8-sig")
    lines = [(n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
    try:
        yield name, _messages(name, json.loads(text))
    except (ValueError, RecursionError) as error:
        if len(lines) < 2:  # noqa: PLR2004 - one line is no JSON Lines
            msg = f"{name}{f'not JSON: {error}' if lines else 'empty'}"
            raise RefusedError(msg) from None
        for number, line in lines:
            where = f"{name}line {number}: "
            with _refusing(where):
                saved = json.loads(line)
            yield where, _messages(where, saved)


def _messages(where: str, saved: Any) -> list[BaseMessage]:
    if isinstance(saved, dict):
        saved = saved.get("messages")
    if not isinstance(saved, list) or not all(isinstance(m, dict) for m in saved):
        msg = f"{where}expected a list of messages, each a JSON object"
        raise RefusedError(msg)
    with _refusing(where):
        dumped = all(m.keys() >= {"type", "data"} for m in saved)
        return messages_from_dict(saved) if dumped else convert_to_messages(saved)


def _text_lines(reductions: list[Reduction]) -> Iterator[str]:
    if len(reductions) == 1:
        yield from map(_message_line, reductions[0].verdicts)
        yield f"\n{reductions[0]}"
    else:
        for number, reduction in enumerate(reductions, 1):
            yield f"{number:>6}  {str(reduction).splitlines()[0]}"
    count = f"{len(reductions)} conversation{'s' * (len(reductions) != 1)}"
    seen = sum(not verdict.added for reduction in reductions for verdict in reduction.verdicts)
    kept = sum(len(reduction.kept) for reduction in reductions)
    yield f"{count}: {seen} messages in, {kept} out."


def _message_line(verdict: Verdict) -> str:
    message = verdict.message
    calls = "".join(f" {call['name']}()" for call in getattr(message, "tool_calls", []))
    text = shorten(" ".join(message.text.split()) + calls, 60)
    why = f"  [{verdict.why}]" if verdict.why else ""
    return f"{MARKS[fate([verdict])]} {verdict.index:>3}  {message.type:<7}{text}{why}"


def _json(reduction: Reduction) -> str:
    messages = [
        {"index": verdict.index, "turn": verdict.turn}
        | {"kept": verdict.left is not None, "whole": verdict.left is verdict.message}
        | {"reason": verdict.reason, "repair": verdict.repair, "added": verdict.added}
        for verdict in reduction.verdicts
    ]
    return json.dumps(
        {"before": reduction.before._asdict(), "after": reduction.after._asdict()}
        | {name: getattr(reduction, name) for name in ("limits", "newest_turn_cut", "overflowed")}
        | {"messages": messages}
    )


if __name__ == "__main__":
    # A conversation may hold what a terminal cannot show.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        sys.exit(main())
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
