"""Long threads in real databases: resumed, many at once, and killed in the middle."""

import asyncio
import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from tests.integration_tests.long_thread import (
    BUDGET,
    FACES,
    THREAD,
    ask,
    make_agent,
    open_saver,
    question,
)
from tests.refusals import refusal
from tests.scripted import FIRST, SECOND, ScriptedModel, guide

TURNS = 300
PROJECT = Path(__file__).parents[2]
KNOWN = ("330 m", "333 m", "Noted.")


@pytest.fixture(autouse=True)
def clean(database: str) -> None:
    """Start with an empty database."""
    if database.startswith("postgresql:"):
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("drop schema public cascade")
            connection.execute("create schema public")


def in_another_process(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run `long_thread` in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "tests.integration_tests.long_thread", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=PROJECT,
    )


@pytest.mark.parametrize("face", FACES)
def test_resumed_from_another_process(database: str, face: str, tmp_path: Path) -> None:
    """A thread of 300 turns goes on in a second process, where the follow-up is answered."""
    model = ScriptedModel(script=guide)
    with open_saver(database) as saver:
        agent = make_agent(model, saver, face)
        answers = [ask(agent, n) for n in range(TURNS + 1)]
    assert answers == [KNOWN[n % 3] for n in range(TURNS + 1)]
    run = in_another_process(database, face, tmp_path / "archive", TURNS + 1, TURNS + 2)
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    assert report["answers"] == ["333 m"]
    assert report["refused"] == []
    assert report["longest"] <= BUDGET
    assert max(map(len, model.windows)) <= BUDGET
    if face == "view":
        assert sum(id_ == f"q{n}" for n in range(TURNS + 2) for id_, _ in report["state"]) == 302
    else:
        assert len(report["state"]) <= BUDGET + 1


def test_killed_between_on_drop_and_the_write(database: str, tmp_path: Path) -> None:
    """A process that is killed after `on_drop` and before the cut is written loses nothing."""
    archive = tmp_path / "archive"
    killed = in_another_process(database, "persist", archive, 0, 30, 5)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    delivered = [tuple(json.loads(line)) for line in archive.read_text().splitlines()]
    with open_saver(database) as saver:
        agent = make_agent(ScriptedModel(script=guide), saver, "persist")
        held = agent.get_state(THREAD).values["messages"]
    assert delivered[-1][0] in {m.id for m in held}, "the cut was not written"

    asked = sum(str(m.id).startswith("q") for m in held if m.id not in dict(delivered))
    asked += sum(id_.startswith("q") for id_ in dict(delivered))
    run = in_another_process(database, "persist", archive, asked, 30)
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    everything = [tuple(json.loads(line)) for line in archive.read_text().splitlines()]
    assert len(everything) > len(set(everything)), "delivered again"
    texts = dict(everything) | dict(report["state"])
    assert {f"q{n}": question(n).text for n in range(30)}.items() <= texts.items()
    answered = [text for text in texts.values() if text in KNOWN]
    # The question that was being answered when the process was killed was not asked again.
    assert len(answered) == 29


@pytest.mark.parametrize("face", FACES)
def test_many_threads_at_once(database: str, face: str) -> None:
    """Thirty-two threads run at once over one agent, and know nothing of one another."""
    model = ScriptedModel(script=guide)

    def serve(number: int) -> list[str]:
        config: Any = {"configurable": {"thread_id": str(number)}}
        answers = []
        for text in (f"I am {number}.", FIRST, SECOND, f"I am {number}."):
            state = agent.invoke({"messages": [HumanMessage(text)]}, config)
            answers.append(state["messages"][-1].text)
        return [*answers, *(m.text for m in state["messages"] if m.text.startswith("I am"))]

    with open_saver(database) as saver, ThreadPoolExecutor(32) as pool:
        agent = make_agent(model, saver, face)
        results = list(pool.map(serve, range(32)))
    for number, result in enumerate(results):
        assert result[:4] == ["Noted.", "330 m", "333 m", "Noted."]
        assert set(result[4:]) == {f"I am {number}."}
    assert [refusal(window) for window in model.windows if refusal(window)] == []
    assert max(map(len, model.windows)) <= BUDGET


@pytest.mark.parametrize("face", FACES)
def test_many_threads_in_one_loop(database: str, face: str) -> None:
    """The same in one event loop, with asynchronous checkpointers."""
    model = ScriptedModel(script=guide)

    async def serve(agent: Any, number: int) -> list[str]:
        config: Any = {"configurable": {"thread_id": str(number)}}
        answers = []
        for text in (f"I am {number}.", FIRST, SECOND):
            state = await agent.ainvoke({"messages": [HumanMessage(text)]}, config)
            answers.append(state["messages"][-1].text)
        return answers

    async def run() -> list[list[str]]:
        postgres = database.startswith("postgresql:")
        asynchronous: Any = AsyncPostgresSaver if postgres else AsyncSqliteSaver
        async with asynchronous.from_conn_string(database) as saver:
            await saver.setup()
            agent = make_agent(model, saver, face)
            return await asyncio.gather(*(serve(agent, number) for number in range(32)))

    assert asyncio.run(run()) == [["Noted.", "330 m", "333 m"]] * 32
    assert max(map(len, model.windows)) <= BUDGET
