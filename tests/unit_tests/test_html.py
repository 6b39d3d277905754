"""The drawing of a `Reduction`: what it says, that it escapes, and that it stays small."""

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement

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


class Reader(HTMLParser):
    """Reads markup into elements as a browser would, and refuses what is not closed."""

    def __init__(self, markup: str) -> None:
        """Read it."""
        super().__init__()
        self.open = [Element("")]
        self.feed(markup)
        self.close()
        (self.root,) = self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element."""
        element = SubElement(self.open[-1], tag, {name: value or "" for name, value in attrs})
        self.open += [element] if tag != "meta" else []

    def handle_endtag(self, tag: str) -> None:
        """Close the element that is open."""
        assert self.open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        """Take in text, but for the style."""
        if self.open[-1].tag != "style":
            SubElement(self.open[-1], "#text").text = data


def draw(history: list[BaseMessage], *given: int, **options: Any) -> Element:
    """Draw what a reducer makes of a history."""
    return Reader(MentorChatReducer(*given, **options).explain(history)._repr_html_()).root


def find(drawn: Element, wanted: str) -> list[Element]:
    """Find the elements of a tag or class."""
    return [e for e in drawn.iter() if wanted in {e.tag, *e.get("class", "").split()}]


def texts(drawn: Element, wanted: str) -> list[str]:
    """Read the elements of a tag or class."""
    return [" ".join("".join(each.itertext()).split()) for each in find(drawn, wanted)]


def skeleton(drawn: Element) -> Any:
    """Tell tags and attributes, without the text."""
    return drawn.tag, drawn.attrib, [skeleton(each) for each in drawn if each.tag != "#text"]


def step(*calls: tuple[str, dict[str, Any], str | None]) -> AIMessage:
    """Make a message that calls tools."""
    return AIMessage(
        "", tool_calls=[{"name": name, "args": args, "id": id_} for name, args, id_ in calls]
    )


def turns(count: int) -> list[BaseMessage]:
    """Make a history of short turns."""
    pairs = ([HumanMessage(f"q{i}"), AIMessage(f"a{i}")] for i in range(1, count + 1))
    return [message for pair in pairs for message in pair]


def loop(steps: int) -> list[BaseMessage]:
    """Make a turn of so many steps."""
    pairs = (
        [step(("look", {}, f"{i}")), ToolMessage(f"r{i}", tool_call_id=f"{i}")]
        for i in range(steps)
    )
    return [HumanMessage("Where to?"), *(message for pair in pairs for message in pair)]


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
    assert texts(drawn, "del") == ["q1", "a1"]
    assert texts(drawn, "head") == [
        "Turn 1 dropped older turn, 2 messages",
        "Turn 2 kept 2 messages",
        "Turn 3 kept 2 messages",
    ]


def test_system_message() -> None:
    """The system message has a row of its own, before the turns."""
    heads = texts(draw(PARALLEL, 5), "head")
    assert heads == ["System message kept", "Turn 1 kept 5 messages"]


def test_message_is_a_labeled_cell() -> None:
    """A message shows where it stands, what it is, its name and its first words."""
    (cell,) = texts(draw([HumanMessage("so   many\nwords " * 40, name="Ada")], 1), "cell")
    assert cell.startswith("0 human Ada so many words so many words")
    assert cell.endswith("…")
    assert len(cell) < 200


def test_results_name_their_call() -> None:
    """Parallel calls are numbered, and each result says which of them it answers."""
    cells = texts(draw(PARALLEL, 5), "cell")
    assert cells[2] == "2 ai calls 2.1 read(list='towers') calls 2.2 read(list='hills')"
    assert cells[3] == "3 tool three hills answers 2.2 read"
    assert cells[4] == "4 tool two towers answers 2.1 read"


def test_pairs_by_position() -> None:
    """Where an id is used again, a result answers the nearest call before it."""
    history: list[BaseMessage] = [HumanMessage("Again and again?")]
    for result in "xy":
        history += [step(("look", {}, "a")), ToolMessage(result, tool_call_id="a")]
    answers = texts(draw(history, 9), "answers")
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
    assert texts(drawn, "calls") == [
        "calls 1.1 broken({)",
        "calls 1.2 c",
        "calls 1.3 old",
        "calls 3 nobody()",
    ]
    assert texts(drawn, "answers") == [
        "answers 1.3 old",
        "answers a call that is not in this history",
    ]


def test_turn_cut_in_part() -> None:
    """In a turn that is kept in part, each dropped message says why."""
    drawn = draw(loop(3), 4)
    assert texts(drawn, "head") == ["Turn 1 kept in part 3 of 7 messages"]
    assert texts(drawn, "cell") == [
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
    asked = HumanMessage([result, {"type": "text", "text": "Two?"}])
    drawn = draw([HumanMessage("One?"), step(("look", {}, "a")), asked], 1)
    assert texts(drawn, "cell")[2] == ("2 human Two? answers 1 look kept in part: its call was cut")
    assert "Two?" not in texts(drawn, "del")


def test_budgets_are_bars() -> None:
    """Each budget that is set is a bar with its figures beside it."""

    def heavy(messages: list[BaseMessage]) -> int:
        return 300_000 * len(messages)

    drawn = draw(turns(3), 5, max_turns=9, max_tokens=2_000_000, token_counter=heavy)
    bars = [
        (bar.get("high"), bar.get("value"), bar.get("aria-label")) for bar in find(drawn, "meter")
    ]
    assert bars == [
        ("5", "4", "max_messages"),
        ("9", "2", "max_turns"),
        ("2000000", "1200000", "max_tokens"),
    ]
    assert texts(drawn, "bar") == [
        "max_messages 4 of 5",
        "max_turns 2 of 9",
        "max_tokens 1,200,000 of 2,000,000",
    ]


@pytest.mark.parametrize("overflow", ["trim", "keep"])
def test_overflow(overflow: str) -> None:
    """A newest step that does not fit is told, whatever was done about it."""
    drawn = draw([HumanMessage("q"), *PARALLEL[2:5]], 2, overflow=overflow)
    assert texts(drawn, "note") == ["The newest step does not fit beside its question."]
    assert not find(draw(turns(3), 4), "note")
    (bar,), (meter,) = texts(drawn, "bar"), find(drawn, "meter")
    assert (meter.get("max"), meter.get("high")) == ("2" if overflow == "trim" else "4", "2")
    assert bar == ("max_messages 1 of 2" if overflow == "trim" else "max_messages 4 of 2, over")


@pytest.mark.parametrize(
    ("history", "most", "kind", "shown", "folds"),
    [
        (turns(40), 40, "turn", 6, ["17 earlier turns: dropped", "17 earlier turns: kept"]),
        (loop(20), 50, "cell", 4, ["37 earlier messages: kept"]),
        (turns(999), 4, "turn", 5, ["994 earlier turns: dropped (the newest 100 are drawn)"]),
    ],
    ids=["turns", "messages", "very many"],
)
def test_long_runs_fold(
    history: list[BaseMessage], most: int, kind: str, shown: int, folds: list[str]
) -> None:
    """A long run of one fate folds but for its newest three, and no more than 100 are drawn."""
    drawn = draw(history, most)
    assert texts(drawn, "summary") == folds
    folded = [len(find(fold, kind)) for fold in find(drawn, "details")]
    assert folded == [min(100, int(summary.split()[0])) for summary in folds]
    assert len(find(drawn, kind)) == shown + sum(folded)


def test_empty() -> None:
    """An empty history has a drawing too."""
    assert texts(draw([], 4), "figcaption") == ["Kept 0 of 0 messages, 0 of 0 turns."]


def test_what_a_notebook_and_a_terminal_show() -> None:
    """A notebook asks the account itself for its drawing, the same each time; else it is text."""
    reduction, again = (MentorChatReducer(4).explain(PARALLEL) for _ in range(2))
    assert isinstance(reduction, Reduction)
    assert reduction._repr_html_().startswith('<figure class="lmr"')
    assert reduction._repr_html_() == again._repr_html_()
    assert repr(reduction) == str(reduction)


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


HARMLESS = skeleton(draw(everywhere("word"), 3))


@pytest.mark.parametrize("text", HOSTILE)
def test_markup_in_messages(text: str) -> None:
    """Markup in a content, a name, an id or a call is shown as it is and becomes no markup."""
    drawn = draw(everywhere(text), 3)
    assert skeleton(drawn) == HARMLESS
    shown = texts(drawn, "words")
    assert shown == [" ".join(text.split())] * len(shown)
    assert len(shown) == 7


@given((st.text(min_size=1, max_size=30) | st.text("<>&\"'=/!- a", min_size=1)).filter(str.strip))
def test_any_text(text: str) -> None:
    """Whatever a message holds, the elements and attributes are the same, and can be encoded."""
    markup = MentorChatReducer(3).explain(everywhere(text))._repr_html_()
    assert skeleton(Reader(markup).root) == HARMLESS
    assert markup.encode()


def test_other_attributes_never_hold_content() -> None:
    """Nothing in the drawing can load or run: no links, no handlers, no scripts."""
    drawn = list(draw([*everywhere("word"), *turns(40)], 60).iter())
    assert {each.tag for each in drawn} == {
        *{"", "figure", "style", "figcaption", "ul", "li", "meter", "div", "span", "b"},
        *{"details", "summary", "del", "code", "#text"},
    }
    attributes = {name for each in drawn for name in each.attrib}
    assert attributes == {"aria-label", "class", "dir", "high", "max", "optimum", "value"}


def test_command_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--html` writes one file that holds the drawing of every conversation, and says where."""
    saved = tmp_path / "saved.jsonl"
    asked = ({"role": "user", "content": text} for text in ("One?", "Ünö?"))
    saved.write_text("\n".join(json.dumps([message]) for message in asked))
    out = tmp_path / "out.html"
    assert main([str(saved), "--html", str(out)]) == 0
    page = Reader(out.read_text("utf-8").removeprefix("<!doctype html>")).root
    assert texts(page, "words") == ["One?", "Ünö?"]
    assert len(find(page, "figure")) == 2
    assert find(page, "html")[0].attrib == {"lang": "en"}
    assert "2 conversations" in capsys.readouterr().out


def test_command_cannot_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that cannot be written is one line on standard error, and exit code 2."""
    out = tmp_path / "missing" / "out.html"
    assert main(["--html", str(out)]) == 2
    assert capsys.readouterr().err == f"{out}: No such file or directory\n"
