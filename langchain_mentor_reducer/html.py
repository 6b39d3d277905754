"""A `Reduction` drawn as HTML: for notebooks, and as a page for a browser.

The standard library writes out a tree of elements, so what stands in a message cannot become
markup. The drawing loads nothing, runs nothing and has no ids. It reads without its style,
too: what was dropped is struck out, and says so in words.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib import resources
from itertools import groupby
from typing import Any, Final
from xml.etree.ElementTree import Element, tostring

from langchain_core.messages import AIMessage

from langchain_mentor_reducer.calls import Call, answers_of, calls_of
from langchain_mentor_reducer.report import Fate, Reduction, Verdict, fate, told

_LONG: Final = 8  # so many turns in a row, or messages of a turn, may share a fate; more fold
_SHOWN: Final = 3  # the newest of them stand outside the fold
_DRAWN: Final = 100  # and so many in it: a thread may be too long for a page

_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>What is kept of a chat history</title>
<style>:root { color-scheme: light dark } body { margin: 0 }</style></head>
<body><main><h1 class="lmr">What is kept of a chat history</h1>
%s
</main></body></html>
"""

# Control characters, and halves of characters: no page can hold them.
_NOT_TEXT: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

Notes = dict[int, list[Element]]  # what the messages call and answer, by their verdict's `id`


def page(reductions: Iterable[Reduction]) -> str:
    """Draw reductions as one document, one below the other."""
    return _PAGE % "\n".join(map(draw, reductions))


def draw(reduction: Reduction) -> str:
    """Draw a reduction as one element that brings its style along."""
    before, after, notes = reduction.before, reduction.after, _notes(reduction.verdicts)
    messages = f"{after.messages:,} of {before.messages:,} messages"
    turns = f"{after.turns:,} of {before.turns:,} turns"
    bars = [_bar(name, used, reduction.limits[name]) for name, used in reduction.used.items()]
    rows = [_turn(notes, [verdict]) for verdict in reduction.verdicts if not verdict.turn]
    rows += _folded(reduction.turns, "turns", partial(_turn, notes))
    style = resources.files("langchain_mentor_reducer").joinpath("html.css").read_text("utf-8")
    overflow = _tag("div", "The newest step does not fit beside its question.", class_="note")
    figure = _tag(
        "figure",
        "",
        _tag("style", style),
        _tag("figcaption", f"Kept {messages}, {turns}."),
        _tag("ul", "", *bars, class_="bars"),
        *([overflow] if reduction.overflowed else []),
        _tag("ul", "", *rows, class_="turns"),
        class_="lmr",
    )
    return tostring(figure, encoding="unicode", method="html")


def _bar(name: str, used: float, limit: int) -> Element:
    # `high` and `optimum` have a browser color what is over the limit.
    most, value = f"{max(used, limit):.15g}", f"{used:.15g}"
    meter = _tag("meter", value=value, max=most, high=f"{limit}", optimum="0", aria_label=name)
    said = f"{used:,.15g} of {limit:,}{', over' * (used > limit)}"
    return _tag("li", name, meter, _tag("span", said), class_="bar")


def _turn(notes: Notes, turn: Sequence[Verdict]) -> Element:
    became, number, (count, why) = fate(turn), turn[0].turn, told(turn)
    head = [
        _tag("b", f"Turn {number:,}" if number else "System message"),
        _tag("span", became, class_="fate"),
        _tag("span", (f"{why}, {count}" if became == "dropped" else count) if number else ""),
    ]
    # The question opens the row, whatever folds behind it.
    cell = partial(_cell, notes, became)
    cells = [cell(turn), *_folded([[verdict] for verdict in turn[1:]], "messages", cell)]
    rows = [_tag("div", "", *head, class_="head"), _tag("ul", "", *cells, class_="messages")]
    return _tag("li", "", *rows, class_=f"turn {became.split()[-1]}")


def _cell(notes: Notes, turn_became: Fate, verdicts: Sequence[Verdict]) -> Element:
    verdict = verdicts[0]
    message, became = verdict.message, fate([verdict])
    words = _tag("span", _short(message.text, 120), class_="words", dir="auto")
    inside = [
        _tag("span", "+" if verdict.added else f"{verdict.index}", class_="index"),
        _tag("b", _short(f"{message.type} {message.name or ''}", 40), class_="role", dir="auto"),
        _tag("del", "", words) if became == "dropped" else words,
        *notes[id(verdict)],
    ]
    if verdict.repair or (turn_became == "kept in part" and became != "kept"):
        said = "mended" if verdict.repair else became
        inside.append(_tag("span", f"{said}: {verdict.why}", class_="why"))
    return _tag("li", "", *inside, class_=f"cell {became.split()[-1]}")


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
            drawn = _tag("ul", "", *map(draw, older[-_DRAWN:]), class_=name)
            yield _tag("li", "", _tag("details", "", summary, drawn), class_="fold")
        yield from map(draw, run[len(older) :])


def _notes(verdicts: Iterable[Verdict]) -> Notes:
    """Number each call by the message that makes it, and find the call of each answer."""
    notes: Notes = defaultdict(list)
    made: dict[Call | None, tuple[str, str]] = {}
    for verdict in verdicts:
        message, mine = verdict.message, notes[id(verdict)]
        if not isinstance(message, AIMessage):
            for answered in answers_of(message).values():
                known = made.get(answered, ("a call that is not in this history", ""))
                mine.append(_note("answers", *known))
            continue
        calls: list[tuple[Call | None, str, str]] = [
            (call["id"], call["name"] or "", _arguments(call["args"]))
            for call in (*message.tool_calls, *message.invalid_tool_calls)
        ]
        ids = {id_ for id_, _, _ in calls}
        others = [call for call in dict.fromkeys(calls_of(message)) if call not in ids]
        calls += [(call, call if isinstance(call, str) else call[1], "") for call in others]
        for place, (call, name, arguments) in enumerate(calls, 1):
            number = f"{verdict.index}.{place}" if len(calls) > 1 else f"{verdict.index}"
            made[call] = number, name
            mine.append(_note("calls", number, f"{name}{arguments}"))
    return notes


def _arguments(arguments: dict[str, Any] | str | None) -> str:
    if isinstance(arguments, dict):
        arguments = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    return f"({arguments or ''})"


def _note(verb: str, number: str, call: str) -> Element:
    inside = [_tag("span", number, class_="number")]
    if call:
        inside.append(_tag("code", _short(call, 100), class_="code", dir="auto"))
    return _tag("span", verb, *inside, class_=verb)


def _short(text: str, width: int) -> str:
    """Return the first words of a text, on one line."""
    line = _NOT_TEXT.sub("\ufffd", " ".join(text.split()))
    return line if len(line) <= width else f"{line[: width - 1].rstrip()}…"


def _tag(name: str, text: str = "", /, *inside: Element, **attributes: str) -> Element:
    """Make an element of a text and elements, a space behind each."""
    tag = Element(name, {key.rstrip("_").replace("_", "-"): attributes[key] for key in attributes})
    tag.text = f"{text} " if inside else text
    for part in inside:
        part.tail = " "
    tag.extend(inside)
    return tag
