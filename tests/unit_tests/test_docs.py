"""README and docs: every block runs, and what they show is what comes out.

`python -m tests.unit_tests.test_docs` writes what they show.
"""

import re
from collections.abc import Callable
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from pydantic import Field
from sybil import Example, Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

from langchain_mentor_reducer import MentorChatReducer
from tests.acceptance.rivals import History, Reducer, message_counting, ours, trimmed
from tests.tables import DOCS, README, table, write
from tests.unit_tests.corners import ask, blocks, call, result, say, system, tool_result
from tests.unit_tests.reference import newest_question, unpaired_answers

PAGES = [README, *sorted(DOCS.glob("*.md"))]
TEXTS = {page: page.read_text(encoding="utf-8") for page in PAGES}
LINKS = {
    page: [
        (page.parent / link).resolve()
        for link in re.findall(r'(?:\]\(|src(?:set)?=")(?!https?:|#)([^)"#]+)', text)
    ]
    for page, text in TEXTS.items()
}
SYBIL = Sybil([PythonCodeBlockParser()])
# The recipes need databases and other packages: they run among the integration tests.
BLOCKS = [block for page in PAGES if page.stem != "recipes" for block in SYBIL.parse(page)]
ANSWER = "19:10, west pier."


@tool
def ferries() -> str:
    """List the ferries of this evening."""
    return "17:40 east pier, 19:10 west pier"


class Model(GenericFakeChatModel):
    """A model that knows its window, and takes tools."""

    profile: Any = Field(default={"max_input_tokens": 8000})

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        """Take tools without using them."""
        return self


def shown_history() -> History:
    """Run the block of the README that makes a history, and return that."""
    (block,) = (block for block in BLOCKS if "\nhistory = [" in block.parsed)
    block.document.namespace.clear()
    block.evaluate()
    history: History = block.document.namespace["history"]
    return history


@pytest.mark.parametrize("block", BLOCKS, ids=lambda b: f"{Path(b.path).name}:{b.line}")
@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
def test_block(block: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block runs, given a model, tools and the history of the README; so does what it makes."""
    monkeypatch.chdir(tmp_path)
    history = shown_history()
    model = Model(messages=iter(repeat(ANSWER)))
    made = block.document.namespace
    made.clear()
    made.update(history=history, model=model, tools=[ferries])
    block.evaluate()
    if "chain" in made:
        assert made["chain"].invoke({"history": history}).text == ANSWER
    if "answer" not in made and (graph := made.get("agent") or made.get("graph")):
        made["answer"] = graph.invoke({"messages": history})
    if "answer" in made:
        assert made["answer"]["messages"][-1].text == ANSWER


def letters(messages: History) -> str:
    """Write a list as one letter a message, and whether it is of no use to a model."""
    kinds = {SystemMessage: "S", HumanMessage: "Q", ToolMessage: "R"}
    shown = [
        "C"
        if isinstance(m, AIMessage) and m.tool_calls
        else "R"
        if _in_blocks(m)
        else kinds.get(type(m), "A")
        for m in messages
    ]
    useless = newest_question(messages) is None or unpaired_answers(messages)
    return (f"`{' '.join(shown)}`" if shown else "nothing") + (" ✗" if useless else "")


def _in_blocks(message: BaseMessage) -> bool:
    return isinstance(message.content, list)


def comparison() -> str:
    """Make the table of what each reducer keeps."""

    def answer(id_: str) -> HumanMessage:
        return blocks(tool_result(id_))  # as Anthropic's form has it

    follow_up = [system(), ask(), say(), ask(), call("a"), result("a"), say(), ask()]
    loop = [ask(), call("a"), result("a"), call("b"), result("b"), call("c"), result("c")]
    parallel = [ask(), call("a", "b", "c"), result("a"), result("b"), result("c")]
    rows: list[tuple[str, History, int]] = [
        ("a follow-up question", follow_up, 5),
        ("the same, with less room", follow_up, 4),
        ("a long tool loop", loop, 4),
        ("parallel calls over the budget", parallel, 3),
        ("results in user messages", [ask(), call("a"), answer("a"), call("b"), answer("b")], 3),
    ]
    reducers: dict[str, Reducer] = {
        "`reduce_messages`": ours,
        '`trim_messages(start_on="human")`': partial(trimmed, start_on="human"),
        "`trim_messages`": trimmed,
        # a result in a user message is a result to it, too
        "`MessageCountingChatReducer`": lambda history, budget: message_counting(
            [m for m in history if not _in_blocks(m)], budget
        ),
    }
    cells = [
        [name, letters(history), str(budget)]
        + [letters(reduce(history, budget)) for reduce in reducers.values()]
        for name, history, budget in rows
    ]
    return table(["", "history", "budget", *reducers], cells, left=7)


def explained() -> str:
    """Make the account that the README shows."""
    return f"```text\n{MentorChatReducer(6).explain(shown_history())}\n```"


SHOWN: dict[str, tuple[Callable[[], str], Path]] = {
    "comparison": (comparison, DOCS / "moving-from.md"),
    "explain": (explained, README),
}


@pytest.mark.parametrize("name", SHOWN)
def test_shown_is_what_comes_out(name: str) -> None:
    """What a page shows between its markers is what comes out."""
    make, page = SHOWN[name]
    assert f"<!-- {name}:start -->\n{make()}\n<!-- {name}:end -->" in TEXTS[page]


def test_figures_stand_in_the_pages_they_link_to() -> None:
    """Each number among the README's figures stands in the page that its line links to."""
    figures = TEXTS[README].partition("\n## Figures\n")[2].partition("\n## ")[0]
    lines = re.findall(r"^- \[.*?\]\((.*?)\): (.*)$", figures, re.MULTILINE)
    missing = [
        f"{number} in {page}"
        for page, line in lines
        for number in re.findall(r"\d(?:[\d.,]*\d)?", line)
        if not re.search(rf"(?<![\d.,]){re.escape(number)}(?![.,]?\d)", TEXTS[README.parent / page])
    ]
    assert lines
    assert not missing


def test_links_lead_somewhere() -> None:
    """Each relative link names a file of the project, and the README links to every page."""
    assert not [link for links in LINKS.values() for link in links if not link.exists()]
    assert not set(PAGES) - {README} - set(LINKS[README])


if __name__ == "__main__":
    for shown, (make, page) in SHOWN.items():
        write(shown, make(), page)
