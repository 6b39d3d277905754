"""A guide that serves threads from a database, in a process of its own if need be.

    python -m tests.integration_tests.long_thread DATABASE FACE ARCHIVE FIRST LAST [KILL_AT]

It asks the questions FIRST to LAST on one thread, and prints what became of it as JSON. What leaves
the state is archived, line by line, by message id. With KILL_AT, the process is killed as soon as
that many deliveries were archived: before the cut is written.
"""

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from langchain.agents import AgentState, create_agent
from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.runtime import Runtime
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool

from langchain_mentor_reducer import MentorChatReducerMiddleware, bounded_messages
from tests.refusals import refusal
from tests.scripted import FIRST, GUIDE_TOOLS, SECOND, ScriptedModel, guide

BUDGET = 6
FACES = ["view", "persist", "channel"]
THREAD: Any = {"configurable": {"thread_id": "long"}}


class Bounded(AgentState[Any]):
    """A state that its channel bounds."""

    messages: Annotated[list[AnyMessage], bounded_messages(BUDGET)]


@contextmanager
def open_saver(database: str) -> Iterator[Any]:
    """Open a checkpointer: a PostgreSQL address, or the path of a SQLite file."""
    if not database.startswith("postgresql:"):
        with SqliteSaver.from_conn_string(database) as sqlite:
            yield sqlite
        return
    options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    with ConnectionPool[Any](database, kwargs=options, min_size=1, max_size=8) as pool:
        postgres = PostgresSaver(pool)
        postgres.setup()
        yield postgres


def make_agent(
    model: ScriptedModel, saver: Any, face: str, archive: Path | None = None, kill_at: int = -1
) -> Any:
    """Make the guide, with one of our faces."""
    if face == "channel":
        return create_agent(model, GUIDE_TOOLS, state_schema=Bounded, checkpointer=saver)
    deliveries = 0

    def on_drop(dropped: list[BaseMessage], runtime: Runtime[Any]) -> None:
        nonlocal deliveries
        del runtime
        if archive is None:
            return
        with archive.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps([m.id, m.text]) + "\n" for m in dropped)
            file.flush()
            os.fsync(file.fileno())
        deliveries += 1
        if deliveries == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    persist = face == "persist"
    ours = MentorChatReducerMiddleware(
        BUDGET, persist=persist, on_drop=on_drop if persist else None
    )
    return create_agent(model, GUIDE_TOOLS, middleware=[ours], checkpointer=saver)


def question(number: int) -> HumanMessage:
    """Of three questions the first two are about towers, and the third is a remark."""
    text = (FIRST, SECOND, f"Remark {number}.")[number % 3]
    return HumanMessage(text, id=f"q{number}")


def ask(agent: Any, number: int, durability: str = "exit") -> str:
    """Ask a question, and return the answer."""
    asked = {"messages": [question(number)]}
    return str(agent.invoke(asked, THREAD, durability=durability)["messages"][-1].text)


def main(database: str, face: str, archive: str, *numbers: str) -> None:
    """Ask, and print what became of it. Every step is written before the next one begins."""
    first, last, kill_at = map(int, [*numbers, "-1"][:3])
    model = ScriptedModel(script=guide)
    with open_saver(database) as saver:
        agent = make_agent(model, saver, face, Path(archive), kill_at)
        answers = [ask(agent, number, "sync") for number in range(first, last)]
        state = agent.get_state(THREAD).values["messages"]
    report = {
        "answers": answers,
        "state": [[m.id, m.text] for m in state],
        "longest": max(map(len, model.windows)),
        "refused": [why for why in map(refusal, model.windows) if why],
    }
    print(json.dumps(report))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
