"""The drawing of a `Reduction`: what it says, that it escapes, and that it stays small."""

import json
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    FunctionMessage,
    HumanMessage,
    InvalidToolCall,
    SystemMessage,
    ToolMessage,
)

from langchain_mentor_reducer import MentorChatReducer, Reduction
from langchain_mentor_reducer.__main__ import main

VOID = {"meta"}


class Node:
    """An element as a browser would read it."""

    def __init__(self, tag: str, attributes: dict[str, str | None]) -> None:
        """Open it."""
        self.tag, self.attributes = tag, attributes
        self.inside: list[Node | str] = []

    @property
    def classes(self) -> list[str]:
        """The classes it has."""
        return (self.attributes.get("class") or "").split()

    @property
    def text(self) -> str:
        """What is read of it, the style left out."""
        parts = (part if isinstance(part, str) else part.text for part in self.inside)
        return "" if self.tag == "style" else " ".join("".join(parts).split())

    def all(self, wanted: str) -> Iterator["Node"]:
        """Find the elements of a tag or class in it."""
        for part in self.inside:
            if isinstance(part, Node):
                if wanted in {part.tag, *part.classes}:
                    yield part
                yield from part.all(wanted)

    def skeleton(self) -> Any:
        """Tell its tags and attributes, without its text."""
        inside = [part.skeleton() for part in self.inside if isinstance(part, Node)]
        return self.tag, self.attributes, inside


class Reader(HTMLParser):
    """Reads markup into nodes, and refuses what is not closed."""

    def __init__(self) -> None:
        """Start with nothing open."""
        super().__init__()
        self.open = [Node("", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element."""
        node = Node(tag, dict(attrs))
        self.open[-1].inside.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_endtag(self, tag: str) -> None:
        """Close the element that is open."""
        assert self.open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        """Take in text."""
        self.open[-1].inside.append(data)


def read(markup: str) -> Node:
    """Read markup as a browser does."""
    reader = Reader()
    reader.feed(markup)
    reader.close()
    (root,) = reader.open
    return root


def draw(history: list[BaseMessage], *given: int, **options: Any) -> Node:
    """Draw what a reducer makes of a history."""
    return read(MentorChatReducer(*given, **options).explain(history)._repr_html_())


def step(*calls: tuple[str, dict[str, Any], str | None]) -> AIMessage:
    """Make a message that calls tools."""
    return AIMessage(
        "", tool_calls=[{"name": name, "args": args, "id": id_} for name, args, id_ in calls]
    )


def turns(count: int) -> list[BaseMessage]:
    """Make a history of short turns."""
    pairs = ([HumanMessage(f"q{i}"), AIMessage(f"a{i}")] for i in range(1, count + 1))
    return [message for pair in pairs for message in pair]


PARALLEL: list[BaseMessage] = [
    SystemMessage("You are a guide."),
    HumanMessage("Which towers?"),
    step(("read", {"list": "towers"}, "a"), ("read", {"list": "hills"}, "b")),
    ToolMessage("three hills", tool_call_id="b"),
    ToolMessage("two towers", tool_call_id="a"),
    AIMessage("Two."),
]


def test_turns_are_rows() -> None:
    """Each turn is a row that says in words what became of it, and why; the dropped is struck."""
    drawn = draw(turns(3), 4)
    assert [text.text for text in drawn.all("del")] == ["q1", "a1"]
    assert [row.text for row in drawn.all("head")] == [
        "Turn 1 dropped older turn, 2 messages",
        "Turn 2 kept 2 messages",
        "Turn 3 kept 2 messages",
    ]


def test_system_message() -> None:
    """The system message has a row of its own, before the turns."""
    heads = [row.text for row in draw(PARALLEL, 5).all("head")]
    assert heads == ["System message kept", "Turn 1 kept 5 messages"]


def test_message_is_a_labeled_cell() -> None:
    """A message shows where it stands, what it is, its name and its first words."""
    cells = [
        c.text for c in draw([HumanMessage("so   many\nwords " * 40, name="Ada")], 1).all("cell")
    ]
    assert len(cells) == 1
    assert cells[0].startswith("0 human Ada so many words so many words")
    assert cells[0].endswith("…")
    assert len(cells[0]) < 200


def test_results_name_their_call() -> None:
    """Parallel calls are numbered, and each result says which of them it answers."""
    cells = [cell.text for cell in draw(PARALLEL, 5).all("cell")]
    assert cells[2] == "2 ai calls 2.1 read(list='towers') calls 2.2 read(list='hills')"
    assert cells[3] == "3 tool three hills answers 2.2 read"
    assert cells[4] == "4 tool two towers answers 2.1 read"


def test_pairs_by_position() -> None:
    """Where an id is used again, a result answers the nearest call before it."""
    history: list[BaseMessage] = [HumanMessage("Again and again?")]
    for result in "xy":
        history += [step(("look", {}, "a")), ToolMessage(result, tool_call_id="a")]
    answers = [node.text for node in draw(history, 9).all("answers")]
    assert answers == ["answers 1 look", "answers 3 look"]


def test_calls_outside_tool_calls() -> None:
    """Calls in the content, invalid ones, legacy ones and one without an id are shown too."""
    history: list[BaseMessage] = [
        HumanMessage("Go."),
        AIMessage(
            [{"type": "computer_call", "call_id": "c", "action": {}}],
            invalid_tool_calls=[
                {"type": "invalid_tool_call", "name": "broken", "args": "{", "id": "i", "error": ""}
            ],
            additional_kwargs={"function_call": {"name": "old", "arguments": "{}"}},
        ),
        FunctionMessage(content="done", name="old"),
        step(("nobody", {}, None)),
        ToolMessage("lost", tool_call_id="elsewhere"),
        HumanMessage([{"type": "mcp_approval_response", "approval_request_id": ""}]),
    ]
    drawn = draw(history, 9)
    assert [node.text for node in drawn.all("calls")] == [
        "calls 1.1 broken({)",
        "calls 1.2 c",
        "calls 1.3 old",
        "calls 3 nobody()",
    ]
    assert [node.text for node in drawn.all("answers")] == [
        "answers 1.3 old",
        "answers a call that is not in this history",
    ]


def test_turn_cut_in_part() -> None:
    """In a turn that is kept in part, each dropped message says why."""
    history: list[BaseMessage] = [HumanMessage("Where to?")]
    for i in range(3):
        history += [step(("look", {}, f"{i}")), ToolMessage(f"r{i}", tool_call_id=f"{i}")]
    drawn = draw(history, 4)
    assert [row.text for row in drawn.all("head")] == ["Turn 1 kept in part 3 of 7 messages"]
    assert [cell.text for cell in drawn.all("cell")] == [
        "0 human Where to?",
        "1 ai calls 1 look() dropped: over budget in the newest turn",
        "2 tool r0 answers 1 look dropped: over budget in the newest turn",
        "3 ai calls 3 look() dropped: over budget in the newest turn",
        "4 tool r1 answers 3 look dropped: its call was cut",
        "5 ai calls 5 look()",
        "6 tool r2 answers 5 look",
    ]


def test_message_kept_in_part() -> None:
    """A user message that loses some of its answers says so, and is not struck out."""
    result = {"type": "tool_result", "tool_use_id": "a", "content": "1"}
    history: list[BaseMessage] = [
        HumanMessage("One?"),
        step(("look", {}, "a")),
        HumanMessage([result, {"type": "text", "text": "Two?"}]),
    ]
    drawn = draw(history, 1)
    assert [cell.text for cell in drawn.all("cell")][2] == (
        "2 human Two? answers 1 look kept in part: its call was cut"
    )
    assert "Two?" not in [text.text for text in drawn.all("del")]


def test_budgets_are_bars() -> None:
    """Each budget that is set is a bar with its figures beside it."""

    def heavy(messages: list[BaseMessage]) -> int:
        return 300_000 * len(messages)

    drawn = draw(turns(3), 5, max_turns=9, max_tokens=2_000_000, token_counter=heavy)
    bars = [bar.attributes for bar in drawn.all("meter")]
    assert [(bar["high"], bar["value"], bar["aria-label"]) for bar in bars] == [
        ("5", "4", "max_messages"),
        ("9", "2", "max_turns"),
        ("2000000", "1200000", "max_tokens"),
    ]
    assert [bar.text for bar in drawn.all("bar")] == [
        "max_messages 4 of 5",
        "max_turns 2 of 9",
        "max_tokens 1,200,000 of 2,000,000",
    ]


@pytest.mark.parametrize("overflow", ["trim", "keep"])
def test_overflow(overflow: str) -> None:
    """A newest step that does not fit is told, whatever was done about it."""
    drawn = draw([HumanMessage("q"), *PARALLEL[2:5]], 2, overflow=overflow)
    assert [note.text for note in drawn.all("note")] == [
        "The newest step does not fit beside its question."
    ]
    assert not list(draw(turns(3), 4).all("note"))
    bar, meter = next(drawn.all("bar")).text, next(drawn.all("meter")).attributes
    assert (meter["max"], meter["high"]) == (("2", "2") if overflow == "trim" else ("4", "2"))
    assert bar == ("max_messages 1 of 2" if overflow == "trim" else "max_messages 4 of 2, over")


def test_long_histories_fold() -> None:
    """A long run of dropped turns, and of kept ones, folds but for its newest three."""
    drawn = draw(turns(40), 40)
    assert [fold.text for fold in drawn.all("summary")] == [
        "17 earlier turns: dropped",
        "17 earlier turns: kept",
    ]
    assert [len(list(fold.all("turn"))) for fold in drawn.all("details")] == [17, 17]
    assert len(list(drawn.all("turn"))) == 40


def test_long_turns_fold() -> None:
    """A long turn folds its middle: the question and the newest messages stay in sight."""
    history: list[BaseMessage] = [HumanMessage("Where to?")]
    for i in range(20):
        history += [step(("look", {}, f"{i}")), ToolMessage(f"r{i}", tool_call_id=f"{i}")]
    drawn = draw(history, 50)
    assert [fold.text for fold in drawn.all("summary")] == ["37 earlier messages: kept"]
    assert [len(list(fold.all("cell"))) for fold in drawn.all("details")] == [37]


def test_drawing_stays_small() -> None:
    """Of a very long run only the newest are drawn, and the drawing says so."""
    long, longer = (
        MentorChatReducer(4).explain(turns(count))._repr_html_() for count in (1000, 5000)
    )
    assert abs(len(longer) - len(long)) < 2000
    fold = next(read(long).all("details"))
    summary = "995 earlier turns: dropped (the newest 100 are drawn)"
    assert next(fold.all("summary")).text == summary
    assert len(list(fold.all("turn"))) == 100


def test_empty() -> None:
    """An empty history has a drawing too."""
    assert next(draw([], 4).all("figcaption")).text == "Kept 0 of 0 messages, 0 of 0 turns."


def test_same_every_time() -> None:
    """The same reduction gives the same markup, to the letter."""
    first, second = (MentorChatReducer(4).explain(PARALLEL)._repr_html_() for _ in range(2))
    assert first == second


HOSTILE = [
    "<script>alert(1)</script>",
    "</style><img src=x onerror=alert(1)>",
    "\" onmouseover='alert(1)' x=\"",
    "&lt;b&gt; &amp; &#60;i&#62; &nosuch; &#0;",
    "<!-- --> <![CDATA[ ]]> <?php ?>",
    "]]></details></ul></figure><plaintext>",
]


def everywhere(text: str) -> list[BaseMessage]:
    """Make a history that holds a text wherever a message can hold one."""
    failed = InvalidToolCall(
        type="invalid_tool_call", name=text, args=text, id=f"i{text}", error=text
    )
    return [
        SystemMessage(text, id=text, name=text),
        HumanMessage(text, id=text, name=text),
        AIMessage(
            [{"type": "text", "text": text}, {"type": "tool_use", "id": f"b{text}", "name": text}],
            id=text,
            name=text,
            tool_calls=[{"name": text, "args": {text: {text: [text]}}, "id": f"a{text}"}],
            invalid_tool_calls=[failed],
            additional_kwargs={"function_call": {"name": text}},
        ),
        ToolMessage(text, id=text, name=text, tool_call_id=f"a{text}", artifact=text),
        ToolMessage(text, id=text, name=text, tool_call_id=f"not{text}"),
        FunctionMessage(content=text, id=text, name=text),
        HumanMessage([{"type": "tool_result", "tool_use_id": f"b{text}"}, text], name=text),
    ]


HARMLESS = draw(everywhere("word"), 3).skeleton()


@pytest.mark.parametrize("text", HOSTILE)
def test_markup_in_messages(text: str) -> None:
    """Markup in a content, a name, an id or a call is shown as it is and becomes no markup."""
    drawn = draw(everywhere(text), 3)
    assert drawn.skeleton() == HARMLESS
    shown = [node.text for node in drawn.all("words")]
    assert shown == [" ".join(text.split())] * len(shown)
    assert len(shown) == 7


@given((st.text(min_size=1, max_size=30) | st.text("<>&\"'=/!- a", min_size=1)).filter(str.strip))
def test_any_text(text: str) -> None:
    """Whatever a message holds, the elements and attributes are the same, and can be encoded."""
    markup = MentorChatReducer(3).explain(everywhere(text))._repr_html_()
    assert read(markup).skeleton() == HARMLESS
    assert markup.encode()


def test_other_attributes_never_hold_content() -> None:
    """Nothing in the drawing can load or run: no links, no handlers, no scripts."""
    tags: set[str] = set()
    attributes: set[str] = set()

    def collect(node: Node) -> None:
        tags.add(node.tag)
        attributes.update(node.attributes)
        for part in node.inside:
            if isinstance(part, Node):
                collect(part)

    collect(draw([*everywhere("word"), *turns(40)], 60))
    assert tags == {
        *{"", "figure", "style", "figcaption", "ul", "li", "meter", "div", "span", "b"},
        *{"details", "summary", "del", "code"},
    }
    assert attributes == {"aria-label", "class", "dir", "high", "max", "optimum", "value"}


def test_command_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--html` writes one file that holds the drawing of every conversation, and says where."""
    saved = tmp_path / "saved.jsonl"
    asked = ({"role": "user", "content": text} for text in ("One?", "Ünö?"))
    saved.write_text("\n".join(json.dumps([message]) for message in asked))
    out = tmp_path / "out.html"
    assert main([str(saved), "--html", str(out)]) == 0
    page = read(out.read_text("utf-8").removeprefix("<!doctype html>"))
    assert [cell.text for cell in page.all("words")] == ["One?", "Ünö?"]
    assert len(list(page.all("figure"))) == 2
    assert next(page.all("html")).attributes == {"lang": "en"}
    assert "2 conversations" in capsys.readouterr().out


def test_command_cannot_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that cannot be written is one line on standard error, and exit code 2."""
    out = tmp_path / "missing" / "out.html"
    assert main(["--html", str(out)]) == 2
    assert capsys.readouterr().err == f"{out}: No such file or directory\n"


def test_reduction_is_what_notebooks_draw() -> None:
    """A notebook asks the account itself for its drawing."""
    reduction = MentorChatReducer(4).explain(PARALLEL)
    assert isinstance(reduction, Reduction)
    assert reduction._repr_html_().startswith('<figure class="lmr"')


def test_terminal_shows_text() -> None:
    """A terminal, and a notebook that shows no HTML, get the text."""
    reduction = MentorChatReducer(4).explain(PARALLEL)
    assert repr(reduction) == str(reduction)
