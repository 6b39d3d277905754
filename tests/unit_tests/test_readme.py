"""The README: every block runs, and what it shows is what comes out."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    trim_messages,
)
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.tools import tool
from pydantic import Field
from sybil import Example, Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

from langchain_mentor_reducer import MentorChatReducer, reduce_messages
from tests.tables import README, table, write
from tests.unit_tests.corners import ask, blocks, call, result, say, system, tool_result
from tests.unit_tests.reference import newest_question, unpaired_answers

BLOCKS = list(Sybil([PythonCodeBlockParser()]).parse(README))


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


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"line {block.line}")
@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
def test_block(block: Example) -> None:
    """A block runs, given a model, tools, a prompt and the history of the first block."""
    namespace = block.document.namespace
    BLOCKS[0].evaluate()
    namespace["model"] = Model(messages=iter([AIMessage("19:10, west pier.")]))
    namespace["tools"] = [ferries]
    namespace["prompt"] = ChatPromptTemplate([("placeholder", "{history}")])
    block.evaluate()
    if "agent" in (made := set(namespace)):
        answer = namespace["agent"].invoke({"messages": namespace["history"]})
        assert answer["messages"][-1].text == "19:10, west pier."
    for name in made - {"history", "model", "tools", "prompt"}:
        del namespace[name]


def between(name: str) -> str:
    """Read what stands between the markers of that name."""
    page = README.read_text(encoding="utf-8")
    return page.partition(f"<!-- {name}:start -->\n")[2].partition(f"\n<!-- {name}:end -->")[0]


def counted(messages: list[BaseMessage], budget: int) -> list[BaseMessage]:
    """Reduce as `MessageCountingChatReducer` does: no calls, no results, the last that fit."""
    first = [m for m in messages if isinstance(m, SystemMessage)][:1]
    rest = [
        m
        for m in messages
        if m not in first
        and not isinstance(m, ToolMessage)
        and not isinstance(m.content, list)
        and not (isinstance(m, AIMessage) and m.tool_calls)
    ]
    return first + rest[-budget:]


def trimmed(**options: Any) -> Callable[[list[BaseMessage], int], list[BaseMessage]]:
    """Reduce with `trim_messages`, given the room for the system message as well."""

    def reduce(messages: list[BaseMessage], budget: int) -> list[BaseMessage]:
        room = budget + isinstance(messages[0], SystemMessage)
        return trim_messages(
            messages, max_tokens=room, token_counter=len, include_system=True, **options
        )

    return reduce


def letters(messages: list[BaseMessage]) -> str:
    """Write a list as one letter a message, and whether it is of no use to a model."""
    kinds = {SystemMessage: "S", HumanMessage: "Q", ToolMessage: "R"}
    shown = [
        "C"
        if isinstance(m, AIMessage) and m.tool_calls
        else "R"
        if isinstance(m.content, list)
        else kinds.get(type(m), "A")
        for m in messages
    ]
    useless = newest_question(messages) is None or unpaired_answers(messages)
    return (f"`{' '.join(shown)}`" if shown else "nothing") + (" ✗" if useless else "")


def answer(id_: str) -> HumanMessage:
    """Make a user message that answers, as Anthropic's form has it."""
    return blocks(tool_result(id_))


def comparison() -> str:
    """Make the table of what each reducer keeps."""
    follow_up = [system(), ask(), say(), ask(), call("a"), result("a"), say(), ask()]
    loop = [ask(), call("a"), result("a"), call("b"), result("b"), call("c"), result("c")]
    parallel = [ask(), call("a", "b", "c"), result("a"), result("b"), result("c")]
    blocked = [ask(), call("a"), answer("a"), call("b"), answer("b")]
    rows = [
        ("a follow-up question", follow_up, 5),
        ("the same, with less room", follow_up, 4),
        ("a long tool loop", loop, 4),
        ("parallel calls over the budget", parallel, 3),
        ("results in user messages", blocked, 3),
    ]
    reducers: list[Callable[[list[BaseMessage], int], list[BaseMessage]]] = [
        lambda messages, budget: reduce_messages(messages, max_messages=budget),
        trimmed(start_on="human"),
        trimmed(),
        counted,
    ]
    head = [
        "",
        "history",
        "budget",
        "`reduce_messages`",
        '`trim_messages(start_on="human")`',
        "`trim_messages`",
        "`MessageCountingChatReducer`",
    ]
    return table(
        head,
        (
            [
                name,
                letters(messages),
                str(budget),
                *(letters(r(messages, budget)) for r in reducers),
            ]
            for name, messages, budget in rows
        ),
        left=7,
    )


def explained() -> str:
    """Make the account that the README shows."""
    BLOCKS[0].evaluate()
    reduction = MentorChatReducer(6).explain(BLOCKS[0].document.namespace["history"])
    return f"```text\n{reduction}\n```"


SHOWN: dict[str, Callable[[], str]] = {"comparison": comparison, "explain": explained}


@pytest.mark.parametrize("name", SHOWN)
def test_shown_is_what_comes_out(name: str) -> None:
    """What the README shows is what comes out; running this module writes it."""
    assert between(name) == SHOWN[name]()


def test_links_lead_somewhere() -> None:
    """Each relative link of the README names a file of the project."""
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", README.read_text(encoding="utf-8"))
    missing = [link for link in links if not Path(README.parent, link).exists()]
    assert links
    assert not missing


if __name__ == "__main__":
    for shown, make in SHOWN.items():
        write(shown, make())
