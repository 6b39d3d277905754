"""A `Reduction` drawn as HTML: for notebooks, and as a page for a browser.

The drawing is built as a tree of elements and written out by the standard library, so what
stands in a message cannot become markup. It loads nothing, runs nothing and has no ids. It
reads without its style, too: what was dropped is struck out, and says so in words.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib import resources
from itertools import groupby
from typing import TYPE_CHECKING, Final
from xml.etree.ElementTree import Element, tostring

from langchain_core.messages import AIMessage

from langchain_mentor_reducer.calls import Call, answers_of, calls_of

if TYPE_CHECKING:
    from langchain_mentor_reducer.report import Reduction, Verdict

_WORDS: Final = 120
"""How much of a message is shown, in characters."""

_NAME: Final = 40
"""How much of a name is shown, in characters."""

_LONG: Final = 8
"""How many turns in a row, or messages of a turn, may share a fate before they fold."""

_SHOWN: Final = 3
"""How many of those, the newest, stand outside the fold."""

_DRAWN: Final = 100
"""How many of those, the newest, a fold holds: a thread may be too long for a page."""

Notes = dict[int, list[Callable[[], Element]]]
"""What the messages call and answer, by their index; made for those that are drawn."""


def draw(reduction: "Reduction") -> str:
    """Draw a reduction as one element that brings its style along."""
    return _markup(_figure(reduction))


def page(reductions: Iterable["Reduction"]) -> str:
    """Draw reductions as one document, one below the other."""
    head = _tag(
        "head",
        _tag("meta", charset="utf-8"),
        _tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        _tag("title", "What is kept of a chat history"),
        _tag("style", ":root { color-scheme: light dark } body { margin: 0 }"),
    )
    title = _tag("h1", "What is kept of a chat history", class_="lmr")
    body = _tag("body", _tag("main", title, *map(_figure, reductions)))
    return f"<!doctype html>{_markup(_tag('html', head, body, lang='en'))}\n"


def _figure(reduction: "Reduction") -> Element:
    before, after, notes = reduction.before, reduction.after, _notes(reduction.verdicts)
    messages = f"{after.messages:,} of {before.messages:,} messages"
    turns = f"{after.turns:,} of {before.turns:,} turns"
    bars = [_bar(name, used, reduction.limits[name]) for name, used in reduction.used.items()]
    overflow = _tag("div", "The newest step does not fit beside its question.", class_="note")
    system = [[verdict] for verdict in reduction.verdicts if not verdict.turn]
    rows = [_turn(turn, notes) for turn in system]
    rows += _folded(reduction.turns, "turns", lambda turn: _turn(turn, notes))
    return _tag(
        "figure",
        _tag("style", _STYLE),
        _tag("figcaption", f"Kept {messages}, {turns}."),
        _tag("ul", *bars, class_="bars"),
        overflow if reduction.overflowed else "",
        _tag("ul", *rows, class_="turns"),
        class_="lmr",
    )


def _bar(name: str, used: float, limit: int) -> Element:
    # `high` and `optimum` have a browser color what is over the limit.
    most, value = f"{max(used, limit):.15g}", f"{used:.15g}"
    meter = _tag("meter", value=value, max=most, high=f"{limit}", optimum="0", aria_label=name)
    over = ", over" if used > limit else ""
    return _tag("li", name, meter, f"{used:,.15g} of {limit:,}{over}", class_="bar")


def _turn(turn: "Sequence[Verdict]", notes: Notes) -> Element:
    fate, number = _fate(turn), turn[0].turn
    explain = fate == "kept in part"
    reasons = ", ".join(dict.fromkeys(verdict.reason for verdict in turn))
    kept = f"{sum(verdict.left is not None for verdict in turn):,} of" if explain else ""
    head = _tag(
        "div",
        _tag("b", f"Turn {number:,}" if number else "System message"),
        _tag("span", fate, class_="fate"),
        f"{reasons}," if fate == "dropped" else "",
        kept,
        f"{len(turn):,} message{'s' * (len(turn) > 1)}" if number else "",
        class_="head",
    )
    # The question opens the row, whatever folds behind it.
    question = _cell(turn[0], notes, explain=explain)
    behind = _folded(
        [[verdict] for verdict in turn[1:]],
        "messages",
        lambda cell: _cell(cell[0], notes, explain=explain),
    )
    cells = _tag("ul", question, *behind, class_="messages")
    return _tag("li", head, cells, class_=f"turn {_CLASSES[fate]}")


def _cell(verdict: "Verdict", notes: Notes, *, explain: bool) -> Element:
    message, fate = verdict.message, _fate([verdict])
    role = f"{message.type} {message.name or ''}"
    words = _tag("span", _short(message.text, _WORDS), class_="words", dir="auto")
    why = _tag("span", f"{fate}: {verdict.reason}", class_="why")
    return _tag(
        "li",
        _tag("span", f"{verdict.index}", class_="index"),
        _tag("b", _short(role, _NAME), class_="role", dir="auto"),
        _tag("del", words) if fate == "dropped" else words,
        *(note() for note in notes.get(verdict.index, [])),
        why if explain and fate != "kept" else "",
        class_=f"cell {_CLASSES[fate]}",
    )


def _fate(verdicts: "Sequence[Verdict]") -> str:
    if all(verdict.left is verdict.message for verdict in verdicts):
        return "kept"
    return "kept in part" if any(verdict.left for verdict in verdicts) else "dropped"


def _folded(
    items: "Iterable[Sequence[Verdict]]",
    name: str,
    draw: "Callable[[Sequence[Verdict]], Element]",
) -> Iterator[Element]:
    """Draw each item, the older ones of a long run with one fate in a fold."""
    for fate, group in groupby(items, _fate):
        run = list(group)
        older = run[:-_SHOWN] if len(run) > _LONG else []
        if older:
            most = f" (the newest {_DRAWN} are drawn)" if len(older) > _DRAWN else ""
            summary = _tag("summary", f"{len(older):,} earlier {name}: {fate}{most}")
            drawn = _tag("ul", *map(draw, older[-_DRAWN:]), class_=name)
            yield _tag("li", _tag("details", summary, drawn), class_="fold")
        yield from map(draw, run[len(older) :])


# --- Calls and results ---------------------------------------------------------------------------


def _notes(verdicts: "Iterable[Verdict]") -> Notes:
    """Number each call by the message that makes it, and find the call of each answer."""
    notes: Notes = defaultdict(list)
    made: dict[Call | None, tuple[str, str]] = {}
    for index, message in ((verdict.index, verdict.message) for verdict in verdicts):
        if isinstance(message, AIMessage):
            calls = list(_calls(message))
            for place, (call, name, arguments) in enumerate(calls, 1):
                number = f"{index}.{place}" if len(calls) > 1 else f"{index}"
                made[call] = number, name
                notes[index].append(partial(_note, "calls", number, name, arguments))
        else:
            for answered in answers_of(message).values():
                number, name = made.get(answered, ("a call that is not in this history", ""))
                notes[index].append(partial(_note, "answers", number, name))
    return notes


def _calls(message: AIMessage) -> Iterator[tuple[Call | None, str, object]]:
    """Go through the calls of a message, each with the name and arguments it is known by."""
    ids = set()
    for call in (*message.tool_calls, *message.invalid_tool_calls):
        ids.add(call["id"])
        yield call["id"], call["name"] or "", call["args"] or ""
    for other in dict.fromkeys(calls_of(message)):
        if other not in ids:
            yield other, other if isinstance(other, str) else other[1], None


def _note(verb: str, number: str, name: str, arguments: object = None) -> Element:
    if isinstance(arguments, dict):
        arguments = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    known = "" if arguments is None else f"({_short(f'{arguments}', _WORDS // 2)})"
    call = f"{_short(name, _NAME)}{known}"
    code = _tag("code", call, class_="code", dir="auto") if call else ""
    return _tag("span", verb, _tag("span", number, class_="number"), code, class_=verb)


# --- Markup --------------------------------------------------------------------------------------

_CLASSES: Final = {"kept": "kept", "kept in part": "part", "dropped": "dropped"}

_NOT_TEXT: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters, and halves of characters: no page can hold them."""


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


def _markup(tag: Element) -> str:
    return tostring(tag, encoding="unicode", method="html")


_STYLE: Final = resources.files("langchain_mentor_reducer").joinpath("html.css").read_text("utf-8")
