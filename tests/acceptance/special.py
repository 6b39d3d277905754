"""Histories in which calls and answers do not stand where one looks first.

Each is built of three turns, so that every cut meets one: an old turn, the same kind of turn once
more, and a newest turn that is under way.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from tests.acceptance import providers, wire

History = list[BaseMessage]
Turn = Callable[[str], History]
"""Makes a turn about something."""
PIXEL = "data:image/png;base64,iVBORw0KGgo="


class Special(NamedTuple):
    """A history, the form it is sent in, and the rules it is sent under."""

    history: History
    form: wire.Form
    rules: Callable[[wire.Wire], Iterator[str]]

    def objection(self, messages: Sequence[BaseMessage]) -> str | None:
        """What the provider would have against these messages, by our reading."""
        return next(self.rules(self.form(messages)), None)


def _responses(turn: Turn) -> Special:
    return Special(_turns(turn), wire.openai_responses, providers.openai_responses)


def _anthropic(turn: Turn) -> Special:
    return Special(_turns(turn), wire.anthropic, providers.anthropic)


def _turns(turn: Turn) -> History:
    history = [SystemMessage("Be brief."), *turn("1"), *turn("2"), *turn("3")[:-1]]
    for place, message in enumerate(history):
        message.id = f"message-{place}"
    return history


def _said(*blocks: dict[str, Any], provider: str = "openai", **fields: Any) -> AIMessage:
    return AIMessage(list(blocks), response_metadata={"model_provider": provider}, **fields)


def _text(n: str) -> dict[str, Any]:
    return {"type": "text", "text": f"That is {n}.", "id": f"msg_{n}"}


def _reasoning(n: str) -> dict[str, Any]:
    return {"type": "reasoning", "id": f"rs_{n}", "summary": [], "encrypted_content": f"opaque{n}"}


def _function_call(n: str) -> dict[str, Any]:
    call = {"type": "function_call", "id": f"fc_{n}", "call_id": f"call_{n}"}
    return call | {"name": "look_up", "arguments": "{}"}


def _tool_call(n: str) -> dict[str, Any]:
    return {"name": "look_up", "args": {"about": n}, "id": f"call_{n}"}


def mcp_approval(n: str) -> History:
    """A call to a remote server that a person has to approve."""
    request = {
        "type": "mcp_approval_request",
        "id": f"mcpr_{n}",
        "name": "look_up",
        "arguments": "{}",
        "server_label": "atlas",
    }
    response = {
        "type": "mcp_approval_response",
        "approval_request_id": f"mcpr_{n}",
        "approve": True,
    }
    call = {
        "type": "mcp_call",
        "id": f"mcp_{n}",
        "approval_request_id": f"mcpr_{n}",
        "name": "look_up",
        "arguments": "{}",
        "server_label": "atlas",
        "output": "found",
    }
    return [
        HumanMessage(f"Ask the atlas about {n}."),
        _said(_reasoning(n), request),
        HumanMessage([response]),
        _said(call, _text(n)),
    ]


def client_tool_search(n: str) -> History:
    """A search for tools that the application runs, and a call of what it found."""
    search = {
        "type": "tool_search_call",
        "call_id": f"search_{n}",
        "execution": "client",
        "arguments": {"queries": [n]},
        "status": "completed",
    }
    output = {
        "type": "tool_search_output",
        "call_id": f"search_{n}",
        "execution": "client",
        "tools": [],
        "status": "completed",
    }
    return [
        HumanMessage(f"Find a tool for {n}."),
        _said(search),
        HumanMessage([output]),
        _said(_function_call(n), tool_calls=[_tool_call(n)]),
        ToolMessage("found", tool_call_id=f"call_{n}"),
        _said(_text(n)),
    ]


def apply_patch(n: str) -> History:
    """Two patches, each applied by the application."""
    calls = [
        {
            "type": "apply_patch_call",
            "call_id": f"patch_{n}{part}",
            "operation": {"type": "delete_file", "path": f"{n}{part}.txt"},
            "status": "completed",
        }
        for part in "ab"
    ]
    outputs = [
        {
            "type": "apply_patch_call_output",
            "call_id": call["call_id"],
            "status": "completed",
            "output": "done",
        }
        for call in calls
    ]
    return [
        HumanMessage(f"Remove what {n} left behind."),
        _said(*calls),
        HumanMessage(list(outputs)),
        _said(_text(n)),
    ]


def custom_tool(n: str) -> History:
    """A call in words of its own, and its output."""
    call = {
        "type": "custom_tool_call",
        "id": f"ctc_{n}",
        "call_id": f"call_{n}",
        "name": "look_up",
        "input": n,
    }
    output = {"type": "custom_tool_call_output", "output": "found"}
    return [
        HumanMessage(f"What of {n}?"),
        _said(call, tool_calls=[_tool_call(n)]),
        ToolMessage([output], tool_call_id=f"call_{n}"),
        _said(_text(n)),
    ]


def computer_use(n: str) -> History:
    """Two clicks, each answered with a picture of the screen."""
    clicks: History = []
    for part in "ab":
        click = {
            "type": "computer_call",
            "id": f"cu_{n}{part}",
            "call_id": f"click_{n}{part}",
            "action": {"type": "click", "button": "left", "x": 1, "y": 1},
            "pending_safety_checks": [],
            "status": "completed",
        }
        clicks += [
            _said(_reasoning(n + part), click),
            ToolMessage(
                PIXEL,
                tool_call_id=f"click_{n}{part}",
                additional_kwargs={"type": "computer_call_output"},
            ),
        ]
    return [HumanMessage(f"Press {n}, twice."), *clicks, _said(_text(n))]


def reasoning(n: str) -> History:
    """Reasoning before a call, and before an answer."""
    return [
        HumanMessage(f"Think about {n}."),
        _said(_reasoning(f"{n}a"), _function_call(n), tool_calls=[_tool_call(n)]),
        ToolMessage("found", tool_call_id=f"call_{n}"),
        _said(_reasoning(f"{n}b"), _text(n)),
    ]


def thinking(n: str) -> History:
    """Anthropic's thinking before each of two calls, signed."""
    steps: History = []
    for part in "ab":
        thought = {
            "type": "thinking",
            "thinking": f"Hm, {n}{part} ...\n",
            "signature": f"s{n}{part}",
        }
        use = {"type": "tool_use", "id": f"call_{n}{part}", "name": "look_up", "input": {}}
        steps += [
            _said(thought, use, provider="anthropic", tool_calls=[_tool_call(n + part)]),
            ToolMessage("found", tool_call_id=f"call_{n}{part}"),
        ]
    return [HumanMessage(f"Look up {n}."), *steps, _said(_text(n), provider="anthropic")]


def server_tools(n: str) -> History:
    """A search that the provider runs itself: call and result stand in one message."""
    use = {"type": "server_tool_use", "id": f"srvtoolu_{n}", "name": "web_search", "input": {}}
    result = {"type": "web_search_tool_result", "tool_use_id": f"srvtoolu_{n}", "content": []}
    return [
        HumanMessage(f"Search for {n}."),
        _said(use, result, _text(n), provider="anthropic"),
        HumanMessage(f"Search for {n} again."),
        _said(use, result, _text(n), provider="anthropic"),
    ]


def tool_results_in_one_message(n: str) -> History:
    """Parallel calls in Anthropic's own form: both results in one user message."""
    uses = [
        {"type": "tool_use", "id": f"call_{n}{part}", "name": "look_up", "input": {}}
        for part in "ab"
    ]
    results = [
        {"type": "tool_result", "tool_use_id": use["id"], "content": "found"} for use in uses
    ]
    return [
        HumanMessage(f"Look up both sides of {n}."),
        _said(*uses, provider="anthropic"),
        HumanMessage(list(results)),
        _said(_text(n), provider="anthropic"),
    ]


def results_and_a_question(n: str) -> History:
    """The same, and the user has gone on to ask something in the message with the results."""
    question, calls, results, answer = tool_results_in_one_message(n)
    asked = [*results.content, {"type": "text", "text": f"And what of {n}'s neighbors?"}]
    return [question, calls, HumanMessage(asked), answer]


def cached(n: str) -> History:
    """Anthropic's cache marks, on a question and on a result."""
    mark = {"cache_control": {"type": "ephemeral"}}
    return [
        HumanMessage([{"type": "text", "text": f"What of {n}?"} | mark]),
        AIMessage("", tool_calls=[_tool_call(n)]),
        ToolMessage([{"type": "text", "text": "found"} | mark], tool_call_id=f"call_{n}"),
        AIMessage(f"That is {n}."),
    ]


def invalid_calls(n: str) -> History:
    """A call whose arguments are no JSON, beside a sound one: both are sent, both are answered."""
    broken = {"name": "look_up", "args": "{about", "id": f"call_{n}x", "error": "no JSON"}
    return [
        HumanMessage(f"What of {n}?"),
        AIMessage("", tool_calls=[_tool_call(n)], invalid_tool_calls=[broken]),
        ToolMessage("not understood", tool_call_id=f"call_{n}x", status="error"),
        ToolMessage("found", tool_call_id=f"call_{n}"),
        AIMessage(f"That is {n}."),
    ]


def pictures(n: str) -> History:
    """A question with a picture and a file, and a result that is a picture."""
    picture = {"type": "image_url", "image_url": {"url": PIXEL}}
    paper = {"type": "file", "file": {"filename": f"{n}.pdf", "file_data": "data:;base64,JVBERg=="}}
    return [
        HumanMessage([{"type": "text", "text": f"What is on {n}?"}, picture, paper]),
        AIMessage("", tool_calls=[_tool_call(n)]),
        ToolMessage([picture], tool_call_id=f"call_{n}"),
        HumanMessage([picture]),
        AIMessage(f"That is {n}."),
    ]


def thought_signatures(n: str) -> History:
    """Gemini's signatures of its thoughts, kept beside the calls they belong to."""
    signatures = {f"call_{n}": "c2lnbmVk"}
    return [
        HumanMessage(f"What of {n}?"),
        AIMessage(
            "",
            tool_calls=[_tool_call(n)],
            additional_kwargs={"__gemini_function_call_thought_signatures__": signatures},
        ),
        ToolMessage("found", tool_call_id=f"call_{n}", name="look_up"),
        AIMessage(f"That is {n}."),
    ]


SPECIAL = {
    "MCP approvals": _responses(mcp_approval),
    "client tool search": _responses(client_tool_search),
    "apply patch": _responses(apply_patch),
    "custom tools": _responses(custom_tool),
    "computer use": _responses(computer_use),
    "reasoning items": _responses(reasoning),
    "thinking with tool use": _anthropic(thinking),
    "server tools": _anthropic(server_tools),
    "tool results in one user message": _anthropic(tool_results_in_one_message),
    "tool results and a question": _anthropic(results_and_a_question),
    "cache marks": _anthropic(cached),
    "invalid calls": Special(_turns(invalid_calls), wire.openai_chat, providers.openai_chat),
    "pictures and files": Special(_turns(pictures), wire.openai_chat, providers.openai_chat),
    "thought signatures": Special(_turns(thought_signatures), wire.gemini, providers.gemini),
}
