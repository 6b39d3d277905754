"""A `Reduction` drawn as HTML: for notebooks, and as a page for a browser.

The drawing is built as a tree of elements and written out by the standard library, so what
stands in a message cannot become markup. It loads nothing, runs nothing and has no ids. It
reads without its style, too: what was dropped is struck out, and says so in words.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import resources
from itertools import groupby
from typing import Any, Final
from xml.etree.ElementTree import Element, tostring

from langchain_core.messages import AIMessage

from langchain_mentor_reducer.calls import Call, answers_of, calls_of
from langchain_mentor_reducer.report import Reduction, Verdict, fate

_LONG: Final = 8
"""How many turns in a row, or messages of a turn, may share a fate before they fold."""

_SHOWN: Final = 3
"""How many of those, the newest, stand outside the fold."""

_DRAWN: Final = 100
"""How many of those, the newest, a fold holds: a thread may be too long for a page."""

_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>What is kept of a chat history</title>
<style>:root { color-scheme: light dark } body { margin: 0 }</style></head>
<body><main><h1 class="lmr">What is kept of a chat history</h1>
%s
</main></body></html>
"""

_NOT_TEXT: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters, and halves of characters: no page can hold them."""

Notes = dict[int, list[Element]]
"""What the messages call and answer, by the `id` of their verdict."""


def page(reductions: Iterable[Reduction]) -> str:
    """Draw reductions as one document, one below the other."""
    return _PAGE % "\n".join(map(draw, reductions))


def draw(reduction: Reduction) -> str:
    """Draw a reduction as one element that brings its style along."""
    before, after, notes = reduction.before, reduction.after, _notes(reduction.verdicts)
    messages = f"{after.messages:,} of {before.messages:,} messages"
    turns = f"{after.turns:,} of {before.turns:,} turns"
    bars = [_bar(name, used, reduction.limits[name]) for name, used in reduction.used.items()]
    overflow = _tag("div", "The newest step does not fit beside its question.", class_="note")
    rows = [_turn([verdict], notes) for verdict in reduction.verdicts if not verdict.turn]
    rows += _folded(reduction.turns, "turns", lambda turn: _turn(turn, notes))
    figure = _tag(
        "figure",
        _tag(
            "style",
            resources.files("langchain_mentor_reducer").joinpath("html.css").read_text("utf-8"),
        ),
        _tag("figcaption", f"Kept {messages}, {turns}."),
        _tag("ul", *bars, class_="bars"),
        overflow if reduction.overflowed else "",
        _tag("ul", *rows, class_="turns"),
        class_="lmr",
    )
    return tostring(figure, encoding="unicode", method="html")


def _bar(name: str, used: float, limit: int) -> Element:
    # `high` and `optimum` have a browser color what is over the limit.
    most, value = f"{max(used, limit):.15g}", f"{used:.15g}"
    meter = _tag("meter", value=value, max=most, high=f"{limit}", optimum="0", aria_label=name)
    over = ", over" if used > limit else ""
    return _tag("li", name, meter, f"{used:,.15g} of {limit:,}{over}", class_="bar")


def _turn(turn: Sequence[Verdict], notes: Notes) -> Element:
    became, number = fate(turn), turn[0].turn
    name, said = f"Turn {number:,}", f"{len(turn):,} message{'s' * (len(turn) > 1)}"
    if became == "dropped":
        said = f"{', '.join(dict.fromkeys(verdict.why for verdict in turn))}, {said}"
    elif became == "kept in part":
        said = f"{sum(verdict.left is not None for verdict in turn):,} of {said}"
    if not number:
        name, said = "System message", ""

    def cell(verdicts: Sequence[Verdict]) -> Element:
        return _cell(verdicts[0], notes, explain=became == "kept in part")

    # The question opens the row, whatever folds behind it.
    cells = [cell(turn), *_folded([[verdict] for verdict in turn[1:]], "messages", cell)]
    return _tag(
        "li",
        _tag("div", _tag("b", name), _tag("span", became, class_="fate"), said, class_="head"),
        _tag("ul", *cells, class_="messages"),
        class_=f"turn {became.split()[-1]}",
    )


def _cell(verdict: Verdict, notes: Notes, *, explain: bool) -> Element:
    message, became = verdict.message, fate([verdict])
    words = _tag("span", _short(message.text, 120), class_="words", dir="auto")
    said = "mended" if verdict.repair else became
    why = _tag("span", f"{said}: {verdict.why}", class_="why")
    role = _short(f"{message.type} {message.name or ''}", 40)
    return _tag(
        "li",
        _tag("span", "+" if verdict.added else f"{verdict.index}", class_="index"),
        _tag("b", role, class_="role", dir="auto"),
        _tag("del", words) if became == "dropped" else words,
        *notes.get(id(verdict), []),
        why if verdict.repair or (explain and became != "kept") else "",
        class_=f"cell {became.split()[-1]}",
    )


def _folded(
    items: Iterable[Sequence[Verdict]], name: str, draw: Callable[[Sequence[Verdict]], Element]
) -> Iterator[Element]:
    """Draw each item, the older ones of a long run with one fate in a fold."""
    for became, group in groupby(items, fate):
        run = list(group)
        older = run[:-_SHOWN] if len(run) > _LONG else []
        if older:
            most = f" (the newest {_DRAWN} are drawn)" if len(older) > _DRAWN else ""
            summary = _tag("summary", f"{len(older):,} earlier {name}: {became}{most}")
            drawn = _tag("ul", *map(draw, older[-_DRAWN:]), class_=name)
            yield _tag("li", _tag("details", summary, drawn), class_="fold")
        yield from map(draw, run[len(older) :])


def _notes(verdicts: Iterable[Verdict]) -> Notes:
    """Number each call by the message that makes it, and find the call of each answer."""
    notes: Notes = defaultdict(list)
    made: dict[Call | None, tuple[str, str]] = {}
    for verdict in verdicts:
        index, message = verdict.index, verdict.message
        if not isinstance(message, AIMessage):
            for answered in answers_of(message).values():
                known = made.get(answered, ("a call that is not in this history", ""))
                notes[id(verdict)].append(_note("answers", *known))
            continue
        named = [*message.tool_calls, *message.invalid_tool_calls]
        calls: list[tuple[Call | None, str, str]] = [
            (call["id"], call["name"] or "", _arguments(call["args"])) for call in named
        ]
        ids = {id_ for id_, _, _ in calls}
        others = [call for call in dict.fromkeys(calls_of(message)) if call not in ids]
        calls += [(call, call if isinstance(call, str) else call[1], "") for call in others]
        for place, (call, name, arguments) in enumerate(calls, 1):
            number = f"{index}.{place}" if len(calls) > 1 else f"{index}"
            made[call] = number, name
            notes[id(verdict)].append(_note("calls", number, f"{name}{arguments}"))
    return notes


def _arguments(arguments: dict[str, Any] | str | None) -> str:
    if isinstance(arguments, dict):
        arguments = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    return f"({arguments or ''})"


def _note(verb: str, number: str, call: str) -> Element:
    code = _tag("code", _short(call, 100), class_="code", dir="auto") if call else ""
    return _tag("span", verb, _tag("span", number, class_="number"), code, class_=verb)


def _short(text: str, width: int) -> str:
    """Return the first words of a text, on one line."""
    line = _NOT_TEXT.sub("\ufffd", " ".join(text.split()))
    return line if len(line) <= width else f"{line[: width - 1].rstrip()}…"


def _tag(name: str, /, *inside: Element | str, **attributes: str) -> Element:
    """Make an element of text and elements, a space between one and the next."""
    tag = Element(name, {key.rstrip("_").replace("_", "-"): attributes[key] for key in attributes})
    for part in inside:
        gap = " " if tag.text or len(tag) else ""
        text = gap if isinstance(part, Element) else gap + part
        if len(tag):
            tag[-1].tail = f"{tag[-1].tail or ''}{text}"
        else:
            tag.text = f"{tag.text or ''}{text}"
        if isinstance(part, Element):
            tag.append(part)
    return tag
