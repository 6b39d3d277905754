"""An agent whose process was killed inside a tool, started again: refused, unless it mends.

    python -m tests.integration_tests.test_killed DATABASE FACE PROVIDER INSIDE

serves the agent that is to be killed; its tool writes the file INSIDE, and then takes its time.
"""

import json
import signal
import subprocess
import sys
import time
from argparse import Namespace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, cast

import anthropic
import openai
import psycopg
import pytest
from langchain.agents import AgentState, create_agent
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool

from langchain_mentor_reducer import MentorChatReducerMiddleware, bounded_messages
from langchain_mentor_reducer.mend import NO_RESULT
from tests.integration_tests.long_thread import FACES, THREAD, open_saver
from tests.integration_tests.provider import ROUTES, Provider, provider
from tests.integration_tests.test_clients import chat, messages, responses

PROJECT = Path(__file__).parents[2]
BUDGET = 20
LONG_AGO = [m for _ in range(5) for m in (HumanMessage("Hello!"), AIMessage("Hello."))]
CLIENTS = [chat, responses, messages]


def make_agent(model: Any, saver: Any, face: str, *, mend: bool, inside: Path | None = None) -> Any:
    """Make an agent with one of our faces, and a tool that does not come back."""

    class Bounded(AgentState[Any]):
        messages: Annotated[list[AnyMessage], bounded_messages(BUDGET, mend=mend)]

    @tool
    def count(number: int) -> str:
        """Say the next number."""
        if inside:
            inside.touch()
            time.sleep(60)
        return str(number + 1)

    if face == "channel":
        return create_agent(model, [count], state_schema=Bounded, checkpointer=saver)
    ours = MentorChatReducerMiddleware(BUDGET, persist=face == "persist", mend=mend)
    return create_agent(model, [count], middleware=[ours], checkpointer=saver)


def ask(agent: Any, question: str) -> list[str]:
    """Ask, and list the results that the state holds then."""
    state = agent.invoke({"messages": [HumanMessage(question)]}, THREAD)["messages"]
    assert state[-1].text == "Counted to 0."
    return [message.text for message in state if isinstance(message, ToolMessage)]


def kill_inside_a_tool(database: str, face: str, server: Provider, home: Path) -> None:
    """Run the agent in a process of its own, and kill it once its tool runs."""
    inside = home / "inside"
    module = [sys.executable, "-m", "tests.integration_tests.test_killed"]
    command = [*module, database, face, server.address, str(inside)]
    with subprocess.Popen(command, cwd=PROJECT) as process:
        while process.poll() is None and not inside.exists():
            time.sleep(0.05)
        process.kill()
    assert process.returncode == -signal.SIGKILL


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note what the provider accepts, and let no two of its answers have one id."""
    accepted: list[str] = []

    def noting(answer: Any, history: Any, limit: int) -> Any:
        accepted.append(json.dumps(history))
        return answer(history, limit) | {"id": f"answer_{len(accepted)}"}

    for path, (field, refused, answer) in ROUTES.items():
        monkeypatch.setitem(ROUTES, path, (field, refused, partial(noting, answer)))
    return accepted


@pytest.mark.parametrize("face", FACES)
def test_killed_inside_a_tool(database: str, face: str, tmp_path: Path, seen: list[str]) -> None:
    """Every provider refuses the thread at each call; mended it goes on, and sees a late result."""
    if database.startswith("postgresql:"):
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("drop schema public cascade; create schema public")
    with provider(limit=1) as server:
        kill_inside_a_tool(database, face, server, tmp_path)
        server.limit = 0  # from here on it answers, and calls nothing
        with open_saver(database) as saver:
            plain, mending = (
                [make_agent(client(server), saver, face, mend=mend) for client in CLIENTS]
                for mend in (False, True)
            )
            for agent in plain:
                with pytest.raises((openai.BadRequestError, anthropic.BadRequestError)):
                    ask(agent, "Are you there?")
            assert len(server.refusals) == len(CLIENTS)

            # The channel writes what it mended; the others show it to the model alone.
            written = [NO_RESULT, NO_RESULT] if face == "channel" else []
            for agent in mending:
                assert ask(agent, "Well?") == written
                assert seen[-1].count(NO_RESULT) == 2

            late = ToolMessage("Late.", tool_call_id="call_0_0")
            mending[0].update_state(THREAD, {"messages": [late]})
            for agent in mending:
                assert ask(agent, "And now?") == ["Late.", *written[1:]]
                assert seen[-1].count("Late.") == 1
                assert seen[-1].count(NO_RESULT) == 1
            held = mending[0].get_state(THREAD).values["messages"]
        assert (len(held) > BUDGET + 1) == (face == "view")
        assert len(server.refusals) == len(CLIENTS)


def main(database: str, face: str, address: str, inside: str) -> None:
    """Count, until killed. Every step is written before the next one begins."""
    model = chat(cast("Provider", Namespace(address=address)))
    with open_saver(database) as saver:
        agent = make_agent(model, saver, face, mend=False, inside=Path(inside))
        asked = {"messages": [*LONG_AGO, HumanMessage("Count.")]}
        agent.invoke(asked, THREAD, durability="sync")


if __name__ == "__main__":
    main(*sys.argv[1:])
