"""A model provider on this machine: it refuses what the real ones refuse, and counts with a tool.

It speaks the wire forms of OpenAI's chat completions and responses and of Anthropic's messages.
Asked to count, it calls the tool `count` with the last number that it sees, up to a limit. Every
third time it calls twice at once, as if to make sure.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from threading import Thread
from typing import Any

Item = dict[str, Any]


# --- What is refused -----------------------------------------------------------------------------


def refused_chat(messages: list[Item]) -> str | None:
    """OpenAI's chat completions: results right behind their calls, and all of them."""
    if not messages:
        return "Invalid 'messages': empty array."
    waiting: set[str] = set()
    for number, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return (
                    f"messages.[{number}]: messages with role 'tool' must be a response to a "
                    "preceeding message with 'tool_calls'."
                )
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            break
        waiting = {call["id"] for call in message.get("tool_calls") or []}
    if waiting:
        return f"tool_call_ids did not have response messages: {', '.join(waiting)}"
    return None


def refused_responses(items: list[Item]) -> str | None:
    """OpenAI's responses: a call and its output must both be there."""
    if not items:
        return "Missing required parameter: 'input'."
    called = {item["call_id"] for item in items if item.get("type") == "function_call"}
    output = {item["call_id"] for item in items if item.get("type") == "function_call_output"}
    if called - output:
        return f"No tool output found for function call {', '.join(called - output)}."
    if output - called:
        return f"No tool call found for function call output {', '.join(output - called)}."
    return None


def _blocks(message: Item, kind: str, key: str) -> set[str]:
    content = message["content"]
    return set() if isinstance(content, str) else {b[key] for b in content if b["type"] == kind}


def refused_messages(messages: list[Item]) -> str | None:
    """Anthropic's messages: results in the very next user message, no blank text, the user last."""
    if not messages:
        return "messages: at least one message is required"
    waiting: set[str] = set()
    for number, message in enumerate(messages):
        results = _blocks(message, "tool_result", "tool_use_id")
        if results - waiting:
            return f"messages.{number}: unexpected `tool_use_id` found in `tool_result` blocks"
        if waiting - results:
            return f"messages.{number}: `tool_use` ids were found without `tool_result` blocks"
        texts = _blocks(message, "text", "text") if isinstance(message["content"], list) else None
        if any(not text.strip() for text in ([message["content"]] if texts is None else texts)):
            return "messages: text content blocks must contain non-whitespace text"
        waiting = _blocks(message, "tool_use", "id")
    if waiting or messages[-1]["role"] == "assistant":
        return "This model does not support assistant message prefill."
    return None


# --- What is answered ----------------------------------------------------------------------------


def _ids(number: int, kind: str) -> list[str]:
    return [f"{kind}_{number}_{i}" for i in range(1 if number % 3 else 2)]


def chat(messages: list[Item], limit: int) -> Item:
    """Answer in the form of chat completions."""
    last = messages[-1]
    number = int(last["content"]) if last["role"] == "tool" else 0
    answer: Item = {"role": "assistant", "content": f"Counted to {number}."}
    if number < limit:
        call = {"name": "count", "arguments": json.dumps({"number": number})}
        calls = [{"id": i, "type": "function", "function": call} for i in _ids(number, "call")]
        answer = {"role": "assistant", "content": None, "tool_calls": calls}
    reason = "tool_calls" if number < limit else "stop"
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 0,
        "model": "local",
        "choices": [{"index": 0, "message": answer, "finish_reason": reason}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def responses(items: list[Item], limit: int) -> Item:
    """Answer in the form of responses."""
    last = items[-1]
    number = int(last["output"]) if last.get("type") == "function_call_output" else 0
    text = {"type": "output_text", "text": f"Counted to {number}.", "annotations": []}
    message: Item = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [text],
    }
    calls: list[Item] = [
        {
            "id": f"fc_{call_id}",
            "type": "function_call",
            "call_id": call_id,
            "name": "count",
            "arguments": json.dumps({"number": number}),
            "status": "completed",
        }
        for call_id in _ids(number, "call")
    ]
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 0,
        "model": "local",
        "status": "completed",
        "output": calls if number < limit else [message],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 1,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 1,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 2,
        },
    }


def messages(history: list[Item], limit: int) -> Item:
    """Answer in the form of messages."""
    content = history[-1]["content"]
    block = content[-1] if isinstance(content, list) else {"type": "text"}
    number = 0
    if block["type"] == "tool_result":
        result = block["content"]
        number = int(result if isinstance(result, str) else result[0]["text"])
    answer: list[Item] = [{"type": "text", "text": f"Counted to {number}."}]
    if number < limit:
        use = {"type": "tool_use", "name": "count", "input": {"number": number}}
        answer = [use | {"id": id_} for id_ in _ids(number, "toolu")]
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "local",
        "content": answer,
        "stop_reason": "tool_use" if number < limit else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


ROUTES: dict[str, tuple[str, Any, Any]] = {
    "/v1/chat/completions": ("messages", refused_chat, chat),
    "/v1/responses": ("input", refused_responses, responses),
    "/v1/messages": ("messages", refused_messages, messages),
}


class Provider(ThreadingHTTPServer):
    """The server, and what it has seen."""

    daemon_threads = True

    def __init__(self, limit: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.limit = limit
        self.sizes: list[int] = []
        """How many messages each request held; the calls of one message are one."""
        self.refusals: list[str] = []
        self.held: dict[str, list[Item]] = {}
        """What it remembers behind the id of each response."""

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Provider

    def do_POST(self) -> None:
        """Refuse, or answer."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        field, refused, answer = ROUTES[self.path]
        sent = body[field]
        kinds = [item.get("type") for item in sent]
        beside = sum(a == b == "function_call" for a, b in pairwise(kinds))
        self.server.sizes.append(len(sent) - beside)
        history = [*self.server.held.get(body.get("previous_response_id"), []), *sent]
        if why := refused(history):
            self.server.refusals.append(why)
            error = {"message": why, "type": "invalid_request_error"}
            return self._send(400, {"type": "error", "error": error})
        said = answer(history, self.server.limit)
        if "output" in said:
            said["id"] = f"resp_{len(self.server.held)}"
            self.server.held[said["id"]] = [*history, *said["output"]]
        return self._send(200, said)

    def _send(self, status: int, body: Item) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def provider(limit: int) -> Iterator[Provider]:
    """Run a provider that counts to a limit."""
    with Provider(limit) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
