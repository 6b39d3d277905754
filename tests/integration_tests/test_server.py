"""LangGraph's own server in its in-memory form, and the SDK's client."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient

from tests.integration_tests.debian import bound_to_us
from tests.scripted import FIRST, SECOND

PROJECT = Path(__file__).parents[2]
AGENTS = Path(__file__).with_name("served_agent.py")
# Nothing calls home.
SETTINGS = {
    "LANGGRAPH_CLI_NO_ANALYTICS": "1",
    "LANGSMITH_TRACING": "false",
    "PYTHONPATH": str(PROJECT),
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SyncLangGraphClient]:
    """Run the server, and give a client of it."""
    home = tmp_path_factory.mktemp("server")
    graphs = {name: f"{AGENTS}:{name}" for name in ("view", "persist")}
    (home / "langgraph.json").write_text(json.dumps({"dependencies": ["."], "graphs": graphs}))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload"]
    with (home / "log").open("wb") as log:
        server = subprocess.Popen(
            [*bound_to_us(), *command, "--port", str(port)],
            stdout=log,
            stderr=log,
            cwd=home,
            env=os.environ | SETTINGS,
        )
    try:
        address = f"http://127.0.0.1:{port}"
        _wait(server, address, home / "log")
        with get_sync_client(url=address) as client:
            yield client
    finally:
        server.terminate()
        server.wait(timeout=30)


def _wait(server: subprocess.Popen[bytes], address: str, log: Path) -> None:
    for _ in range(240):
        if server.poll() is not None:
            break
        try:
            if httpx.get(f"{address}/ok", timeout=5).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.5)
    pytest.fail(f"the server did not start:\n{log.read_text()}")


@pytest.mark.parametrize("graph", ["view", "persist"])
def test_stream_shows_no_removal(client: SyncLangGraphClient, graph: str) -> None:
    """A client that streams sees the answers, and neither a removal nor its marker."""
    thread = client.threads.create()["thread_id"]
    streamed: list[Any] = []
    for question in ["Remark.", FIRST, SECOND, "Remark."]:
        asked: Any = {"messages": [{"role": "user", "content": question}]}
        parts = client.runs.stream(
            thread, graph, input=asked, stream_mode=["messages-tuple", "messages", "values"]
        )
        streamed += [(part.event, part.data) for part in parts]
    assert "error" not in {event for event, _ in streamed}
    seen = [data[0] for event, data in streamed if event == "messages"]
    assert "333 m" in {message["content"] for message in seen}
    assert {message["type"] for message in seen}.isdisjoint({"remove", "RemoveMessage"})
    assert "__remove_all__" not in json.dumps(streamed)
    state = client.threads.get_state(thread)["values"]
    assert isinstance(state, dict)
    assert (len(state["messages"]) <= 7) == (graph == "persist")
