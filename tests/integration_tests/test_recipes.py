"""The recipes: each block of `docs/recipes.md` runs in a real graph, on SQLite."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend
from deepagents.middleware.summarization import create_summarization_middleware
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.store.sqlite import SqliteStore
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

from langchain_mentor_reducer import MentorChatReducerMiddleware, reduce_messages
from tests.integration_tests.provider import provider
from tests.refusals import refusal
from tests.scripted import FIRST, GUIDE_TOOLS, SECOND, ScriptedModel, call, calling, guide
from tests.tables import README

PAGE = README.parent / "docs" / "recipes.md"
REMARKS = [f"Remark {n}." for n in range(40)]
LONG = [f"{remark:.<400}" for remark in REMARKS]
SUMMARY = "lc_source"
Recipe = Callable[..., dict[str, Any]]


@pytest.fixture
def saver(tmp_path: Path) -> Iterator[SqliteSaver]:
    """A checkpointer."""
    with SqliteSaver.from_conn_string(str(tmp_path / "threads.sqlite")) as saver:
        yield saver


@pytest.fixture
def recipe(tmp_path: Path, saver: SqliteSaver) -> Iterator[Recipe]:
    """Run the block under a heading, given what the page asks the reader to bring."""
    with SqliteStore.from_conn_string(str(tmp_path / "store.sqlite")) as store:
        store.setup()

        def run(heading: str, **given: Any) -> dict[str, Any]:
            document = Sybil([PythonCodeBlockParser()]).parse(PAGE)
            document.namespace.update(checkpointer=saver, store=store, **given)
            start = document.text.index(f"## {heading}\n")
            next(block for block in document if block.start > start).evaluate()
            return document.namespace

        yield run


def ask(agent: Any, *questions: str, thread: str = "1") -> list[BaseMessage]:
    """Ask an agent on a thread; return what its state holds at the end."""
    messages: list[BaseMessage] = []
    for question in questions:
        config = {"configurable": {"thread_id": thread}, "recursion_limit": 200}
        messages = agent.invoke({"messages": [HumanMessage(question)]}, config)["messages"]
    return messages


@tool
def page(number: str) -> str:
    """Read a page."""
    return f"{number:.<4000}"


@tool
def count(number: int) -> str:
    """Say the next number."""
    return str(number + 1)


def reader(window: list[BaseMessage]) -> AIMessage:
    """Read the page that the question names, then say so."""
    last = window[-1]
    if isinstance(last, HumanMessage):
        return calling(call("page", f"call_{last.text}", number=last.text))
    return AIMessage(f"Read {last.text.rstrip('.')}.")


def test_cleared_outputs(recipe: Recipe) -> None:
    """Cleared first, all questions fit where ours alone keeps some: the figures on the page."""
    model = ScriptedModel(script=reader)
    both = recipe("Clear old tool outputs first", model=model, tools=[page])["agent"]
    ours = MentorChatReducerMiddleware(max_tokens=8000)
    alone: Any = create_agent(model, [page], middleware=[ours])
    held = ask(both, *map(str, range(12)))
    assert sum(len(m.text) for m in held if isinstance(m, ToolMessage)) == 12 * 4000
    cleared = model.windows[-1]
    assert alone.invoke({"messages": held[:-1]})["messages"][-1].text == "Read 11."
    for window, kept in ((cleared, 12), (model.windows[-1], 7)):
        assert sum(isinstance(m, HumanMessage) for m in window) == kept
        assert f"{sum(len(m.text) for m in window):,}" in PAGE.read_text(encoding="utf-8")


def remembering(window: list[BaseMessage]) -> AIMessage:
    """Know the boat from the window alone; sum up by keeping its name; recall if there is a way."""
    last = window[-1].text
    boat = re.search(r"boat is called \w+", "\n".join(m.text for m in window))
    if last.startswith("Sum up."):
        return AIMessage(f"SUMMARY: {boat[0] if boat else 'Nothing.'}")
    if last == "Recall the boat's name.":
        return calling(call("recall", f"call_{len(window)}", words="boat called"))
    if last.startswith("Remark"):
        return AIMessage("Noted.")
    return AIMessage(boat[0] if boat else "I do not know.")


def test_running_summary(recipe: Recipe) -> None:
    """What was dropped is known from the system prompt, at the very call that drops it."""
    model = ScriptedModel(script=remembering)
    agent = recipe("Keep a running summary", model=model, tools=[count])["agent"]
    held = ask(agent, "My boat is called Kittiwake.", *REMARKS)
    assert ask(agent, "What is it?")[-1].text == "boat is called Kittiwake"
    assert len(held) <= 21
    sums = [i for i, window in enumerate(model.windows) if window[-1].text.startswith("Sum up.")]
    assert len(sums) == 7, "for 42 questions"
    for i in sums:
        first, *rest = model.windows[i + 1]
        assert isinstance(first, SystemMessage)
        assert "SUMMARY: boat is called Kittiwake" in first.text
        assert not any("boat" in m.text for m in rest)
    seen = agent.stream(
        {"messages": [HumanMessage(text) for text in REMARKS]},
        {"configurable": {"thread_id": "1"}},
        stream_mode="messages",
    )
    assert [message.text for message, _ in seen] == ["Noted."]
    assert sum(w[-1].text.startswith("Sum up.") for w in model.windows) == len(sums) + 1


def test_archive(recipe: Recipe) -> None:
    """The tool finds what left the state, in its own thread alone."""
    model = ScriptedModel(script=remembering)
    run = recipe("Archive, and recall", model=model, tools=[count])
    for thread, boat in (("1", "Kittiwake"), ("2", "Puffin")):
        held = ask(run["agent"], f"My boat is called {boat}.", *REMARKS, thread=thread)
        assert not any(boat in m.text for m in held)
    for thread, boat in (("1", "Kittiwake"), ("2", "Puffin")):
        held = ask(run["agent"], "Recall the boat's name.", thread=thread)
        assert held[-1].text == f"boat is called {boat}"
        assert [name for name in ("Kittiwake", "Puffin") if name in held[-2].text] == [boat]
    archived = partial(run["store"].search, ("archive", "1"))
    assert archived(query="boat called") == archived(), "why the tool matches words itself"


def alternating(window: list[BaseMessage]) -> AIMessage:
    """Refuse two messages of one role in a row."""
    if any(a.type == b.type for a, b in pairwise(window)):
        msg = "roles must alternate"
        raise ValueError(msg)
    return AIMessage(f"saw {len(window)}")


def test_alternation(recipe: Recipe) -> None:
    """A model that insists on alternation takes the merged window, and refuses the other."""
    model = ScriptedModel(script=alternating)
    chain = recipe("Models that insist on alternation", model=model)["chain"]
    turn = [HumanMessage("a"), HumanMessage("b"), AIMessage("c")]
    history = [*turn * 10, *turn[:2]]
    with pytest.raises(ValueError, match="alternate"):
        (reduce_messages(max_messages=20) | model).invoke(history)
    assert chain.invoke(history).text == "saw 13", "of 20 messages"
    assert [m.text for m in model.windows[-1][-3:]] == ["a\nb", "c", "a\nb"]


def test_deep_agent(recipe: Recipe) -> None:
    """A deep agent answers the follow-up within the budget, its own summary or not."""
    model = ScriptedModel(script=guide, profile={"max_input_tokens": 5000})
    agent = recipe("Deep agents", model=model, tools=GUIDE_TOOLS)["agent"]
    assert ask(agent, *LONG, FIRST, SECOND)[-1].text == "333 m"
    summaries = [w for w in model.windows if any(SUMMARY in m.additional_kwargs for m in w)]
    assert len(summaries) >= 2
    assert [refusal(window) for window in model.windows if refusal(window)] == []
    assert max(map(len, model.windows)) <= 13, "the system prompt is among them"


@pytest.mark.parametrize("behind", [True, False])
def test_deep_agent_persist(tmp_path: Path, saver: SqliteSaver, behind: bool) -> None:  # noqa: FBT001
    """Cutting the state would move what their index points to: refused, and view mode is named."""
    model = ScriptedModel(script=guide, profile={"max_input_tokens": 5000 if behind else 2000})
    ours = MentorChatReducerMiddleware(50, persist=True)
    if behind:
        agent: Any = create_deep_agent(model, middleware=[ours], checkpointer=saver)
    else:
        theirs: Any = create_summarization_middleware(model, FilesystemBackend(tmp_path))
        agent = create_agent(model, middleware=[ours, theirs], checkpointer=saver)
    with pytest.raises(ValueError, match="persist=False"):
        ask(agent, *LONG)


def counting(window: list[BaseMessage]) -> AIMessage:
    """Have a question looked into, or count to ten."""
    last = window[-1].text
    if last.startswith("Report"):
        return calling(call("research", f"call_{last}", question=last.removeprefix("Report ")))
    number = int(last) if isinstance(window[-1], ToolMessage) and last.isdigit() else 0
    if isinstance(window[-1], HumanMessage) or 0 < number < 10:
        return calling(call("count", f"call_{number}", number=number))
    return AIMessage(f"counted: {last}")


def test_supervisor(recipe: Recipe, saver: SqliteSaver) -> None:
    """Each agent is cut by its own middleware, and the supervisor never sees a step below."""
    model = ScriptedModel(script=counting)
    agent = recipe("A supervisor and its subagents", model=model, tools=[count])["agent"]
    held = ask(agent, *(f"Report {n}: count." for n in range(6)))
    below = [w for w in model.windows if not w[0].text.startswith("Report")]
    above = [w for w in model.windows if w[0].text.startswith("Report")]
    assert (len(below), len(above)) == (66, 12)
    assert max(map(len, below)) <= 6
    assert max(map(len, above)) <= 8
    assert held[-1].text == "counted: counted: 10"
    assert len(held) <= 9
    assert {m.name for m in held if isinstance(m, ToolMessage)} == {"research"}
    assert {c.config["configurable"]["checkpoint_ns"] for c in saver.list(None)} == {""}


@pytest.mark.parametrize(("steps", "grows"), [(2, True), (30, False)])
def test_openai(recipe: Recipe, monkeypatch: pytest.MonkeyPatch, steps: int, grows: bool) -> None:  # noqa: FBT001
    """A request holds what is new; what the provider holds grows while a response is in sight."""
    with provider(steps) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.address}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        agent = recipe("OpenAI: only what is new", tools=[count])["agent"]
        sizes = []
        for _ in range(8):
            held = ask(agent, "Count.")
            assert held[-1].text == f"Counted to {steps}."
            assert len(held) <= 13
            sizes.append(max(map(len, server.held.values())))
        assert server.refusals == []
        assert max(server.sizes) == 2, "the results of two calls at once"
        assert sizes == [sizes[0] * (n + 1 if grows else 1) for n in range(8)]
