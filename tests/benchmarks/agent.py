"""A long agent thread in a SQLite database, with and without a bounded history.

    python -m tests.benchmarks.agent [TURNS]

In each turn the agent looks up a thing or two and answers; every fiftieth turn takes thirty steps,
more than the budget. Only the language model is scripted, and it takes no time.
"""

import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from statistics import mean
from time import perf_counter
from typing import Annotated, Any, NamedTuple

from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import SummarizationMiddleware, before_model
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from langchain_mentor_reducer import MentorChatReducerMiddleware, bounded_messages
from tests.acceptance.rivals import documented
from tests.refusals import refusal
from tests.scripted import ScriptedModel, call, calling
from tests.tables import table

TURNS = 300
BUDGET = 50
LONG_TURN, LONG_STEPS = 50, 30
LATE = 30
"""The turns at the end over which what is late is measured."""


class Row(NamedTuple):
    """What one way to keep a history costs."""

    name: str
    seconds: float
    late_call: float
    """Seconds per model call in the last turns, all that the graph does around it included."""
    size: int
    """Bytes of the database at the end."""
    late_growth: float
    """Bytes by which a turn grows the database in the last turns."""
    messages: float
    """Messages per model call."""
    refused: int
    """Model calls that a provider would have refused."""


COLUMNS: dict[str, Callable[[Row], str]] = {
    "history": lambda row: row.name,
    "seconds in all": lambda row: f"{row.seconds:.1f}",
    "ms per call, late": lambda row: f"{row.late_call * 1000:.1f}",
    "database, MB": lambda row: f"{row.size / 1e6:.1f}",
    "KB per turn, late": lambda row: f"{row.late_growth / 1e3:.0f}",
    "messages per call": lambda row: f"{row.messages:.0f}",
    "calls refused": lambda row: str(row.refused),
}


@tool
def look_up(thing: str) -> str:
    """Look something up."""
    return f"What is known about {thing}: " + "it is well known. " * 10


def script(window: list[BaseMessage]) -> AIMessage:
    """Look up what the question names, in as many steps as it names, and answer."""
    asked = max((i for i, m in enumerate(window) if isinstance(m, HumanMessage)), default=None)
    if asked is None or not window[asked].text.startswith("Look up "):
        return AIMessage("What was I asked?")
    thing, _, steps = window[asked].text.removeprefix("Look up ").partition(" in steps: ")
    last = window[-1]
    done = int(last.tool_call_id.split(".")[1]) if isinstance(last, ToolMessage) else 0
    if done == int(steps):
        return AIMessage(f"Here is what I found about {thing}. " * 3)
    wide = range(1 + done % 2)
    return calling(*(call("look_up", f"{thing}.{done + 1}.{i}", thing=thing) for i in wide))


class Bounded(AgentState[Any]):
    """A state that its channel bounds."""

    messages: Annotated[list[AnyMessage], bounded_messages(BUDGET)]


@before_model
def trim(state: Any, runtime: Any) -> dict[str, Any]:
    """Trim the state as the documentation of `trim_messages` shows."""
    del runtime
    kept = documented(state["messages"], BUDGET)
    return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *kept]}


def summarize() -> SummarizationMiddleware[Any, Any]:
    """Summarize at the same size."""
    model = ScriptedModel(script=lambda _: AIMessage("They looked things up. " * 20))
    size: Any = {"trigger": ("messages", BUDGET), "keep": ("messages", BUDGET // 2)}
    return SummarizationMiddleware(model, **size, trim_tokens_to_summarize=None)


OURS = MentorChatReducerMiddleware
WAYS: dict[str, Callable[[], dict[str, Any]]] = {
    "all of it": dict,
    "`MentorChatReducerMiddleware(50)`": lambda: {"middleware": [OURS(BUDGET)]},
    "the same, `persist=True`": lambda: {"middleware": [OURS(BUDGET, persist=True)]},
    "the same, `trim_to=0.6`": lambda: {"middleware": [OURS(BUDGET, persist=True, trim_to=0.6)]},
    "`bounded_messages(50)`": lambda: {"state_schema": Bounded},
    "`trim_messages` in `before_model`": lambda: {"middleware": [trim]},
    "`SummarizationMiddleware`": lambda: {"middleware": [summarize()]},
}


def measure(name: str, turns: int) -> Row:
    """Run a thread, and measure."""
    model = ScriptedModel(script=script)
    thread: Any = {"configurable": {"thread_id": "1"}, "recursion_limit": 1000}
    refused = late_calls = size_before = 0
    sizes: list[int] = []
    late = turns - min(LATE, turns // 2)
    started = late_started = perf_counter()
    with tempfile.TemporaryDirectory() as home:
        path = Path(home) / "threads.sqlite"
        with SqliteSaver.from_conn_string(str(path)) as saver:
            agent: Any = create_agent(model, [look_up], checkpointer=saver, **WAYS[name]())
            for turn in range(turns):
                if turn == late:
                    late_started, size_before = perf_counter(), _size(path)
                steps = LONG_STEPS if turn % LONG_TURN == LONG_TURN // 2 else 1 + turn % 2
                question = f"Look up thing {turn} in steps: {steps}"
                agent.invoke({"messages": [HumanMessage(question)]}, thread)
                refused += sum(refusal(window) is not None for window in model.windows)
                sizes += [len(window) for window in model.windows]
                late_calls += len(model.windows) if turn >= late else 0
                model.windows.clear()
            ended = perf_counter()
        size = _size(path)
    return Row(
        name,
        ended - started,
        (ended - late_started) / late_calls,
        size,
        (size - size_before) / (turns - late),
        mean(sizes),
        refused,
    )


def _size(database: Path) -> int:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("pragma wal_checkpoint(truncate)")  # what is written, into the file
    return database.stat().st_size


def rows(turns: int = TURNS) -> Iterable[Row]:
    """Measure every way to keep a history."""
    return (measure(name, turns) for name in WAYS)


def markdown(measured: Iterable[Row], turns: int = TURNS) -> str:
    """Lay the rows out as a table."""
    cells = [[show(row) for show in COLUMNS.values()] for row in measured]
    title = f"An agent's thread of {turns} turns in SQLite, with a budget of {BUDGET} messages:"
    return f"{title}\n\n{table(list(COLUMNS), cells)}"


def main(turns: int = TURNS) -> None:
    """Measure, and print the table."""
    print(markdown(rows(turns), turns))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
