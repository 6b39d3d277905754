"""Histories in which calls and answers do not stand where one looks first.

Each is built of three turns, so that every cut meets one: an old turn, the same kind of turn once
more, and a newest turn that is under way.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from tests.acceptance import providers, wire

History = list[BaseMessage]
Turn = Callable[[str], History]
"""Makes a turn about something."""
Block = dict[str, Any]
PIXEL = "data:image/png;base64,iVBORw0KGgo="


class Special(NamedTuple):
    """A history, the form it is sent in, and the rules it is sent under."""

    history: History
    form: wire.Form
    rules: Callable[[wire.Wire], Iterator[str]]

    def objection(self, messages: Sequence[BaseMessage]) -> str | None:
        """What the provider would have against these messages, by our reading."""
        return next(self.rules(self.form(messages)), None)


def _special(turn: Turn, provider: str) -> Special:
    history = [SystemMessage("Be brief."), *turn("1"), *turn("2"), *turn("3")[:-1]]
    for place, message in enumerate(history):
        message.id = f"message-{place}"
    return Special(history, getattr(wire, provider), getattr(providers, provider))


def _said(*blocks: Block, provider: str = "openai", **fields: Any) -> AIMessage:
    return AIMessage(list(blocks), response_metadata={"model_provider": provider}, **fields)


def _text(n: str) -> Block:
    return {"type": "text", "text": f"That is {n}.", "id": f"msg_{n}"}


def _reasoning(n: str) -> Block:
    return {"type": "reasoning", "id": f"rs_{n}", "summary": [], "encrypted_content": f"opaque{n}"}


def _function_call(n: str, *before: Block) -> AIMessage:
    call = {"type": "function_call", "id": f"fc_{n}", "call_id": f"call_{n}"}
    call |= {"name": "look_up", "arguments": "{}"}
    return _said(*before, call, tool_calls=[_tool_call(n)])


def _tool_call(n: str) -> Block:
    return {"name": "look_up", "args": {"about": n}, "id": f"call_{n}"}


def _tool_use(n: str) -> Block:
    return {"type": "tool_use", "id": f"call_{n}", "name": "look_up", "input": {}}


def _found(n: str, content: Any = "found", **fields: Any) -> ToolMessage:
    return ToolMessage(content, tool_call_id=f"call_{n}", **fields)


def mcp_approval(n: str) -> History:
    """A call to a remote server that a person has to approve."""
    tool = {"name": "look_up", "arguments": "{}", "server_label": "atlas"}
    answers = {"approval_request_id": f"mcpr_{n}"}
    return [
        HumanMessage(f"Ask the atlas about {n}."),
        _said(_reasoning(n), {"type": "mcp_approval_request", "id": f"mcpr_{n}"} | tool),
        HumanMessage([{"type": "mcp_approval_response", "approve": True} | answers]),
        _said({"type": "mcp_call", "id": f"mcp_{n}", "output": "found"} | answers | tool, _text(n)),
    ]


def client_tool_search(n: str) -> History:
    """A search for tools that the application runs, and a call of what it found."""
    search = {"call_id": f"search_{n}", "execution": "client", "status": "completed"}
    return [
        HumanMessage(f"Find a tool for {n}."),
        _said({"type": "tool_search_call", "arguments": {"queries": [n]}} | search),
        HumanMessage([{"type": "tool_search_output", "tools": []} | search]),
        _function_call(n),
        _found(n),
        _said(_text(n)),
    ]


def apply_patch(n: str) -> History:
    """Two patches, each applied by the application."""
    calls: list[Block] = []
    outputs: list[str | Block] = []
    for part in "ab":
        patch = {"call_id": f"patch_{n}{part}", "status": "completed"}
        operation = {"type": "delete_file", "path": f"{n}{part}.txt"}
        calls.append({"type": "apply_patch_call", "operation": operation} | patch)
        outputs.append({"type": "apply_patch_call_output", "output": "done"} | patch)
    asked = HumanMessage(f"Remove what {n} left behind.")
    return [asked, _said(*calls), HumanMessage(outputs), _said(_text(n))]


def custom_tool(n: str) -> History:
    """A call in words of its own, and its output."""
    call = {"type": "custom_tool_call", "id": f"ctc_{n}", "call_id": f"call_{n}"}
    called = _said(call | {"name": "look_up", "input": n}, tool_calls=[_tool_call(n)])
    output = _found(n, [{"type": "custom_tool_call_output", "output": "found"}])
    return [HumanMessage(f"What of {n}?"), called, output, _said(_text(n))]


def computer_use(n: str) -> History:
    """Two clicks, each answered with a picture of the screen."""
    clicks: History = []
    for part in "ab":
        id_ = f"click_{n}{part}"
        click = {"type": "computer_call", "id": f"cu_{n}{part}", "call_id": id_}
        action = {"type": "click", "button": "left", "x": 1, "y": 1}
        done = {"action": action, "pending_safety_checks": [], "status": "completed"}
        screen = ToolMessage(PIXEL, tool_call_id=id_)
        screen.additional_kwargs["type"] = "computer_call_output"
        clicks += [_said(_reasoning(n + part), click | done), screen]
    return [HumanMessage(f"Press {n}, twice."), *clicks, _said(_text(n))]


def reasoning(n: str) -> History:
    """Reasoning before a call, and before an answer."""
    return [
        HumanMessage(f"Think about {n}."),
        _function_call(n, _reasoning(f"{n}a")),
        _found(n),
        _said(_reasoning(f"{n}b"), _text(n)),
    ]


def thinking(n: str) -> History:
    """Anthropic's thinking before each of two calls, signed."""
    steps: History = []
    for part in (f"{n}a", f"{n}b"):
        thought = {"type": "thinking", "thinking": f"Hm, {part} ...\n", "signature": f"s{part}"}
        calls = [_tool_call(part)]
        thinks = _said(thought, _tool_use(part), provider="anthropic", tool_calls=calls)
        steps += [thinks, _found(part)]
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
    uses = [_tool_use(f"{n}{part}") for part in "ab"]
    return [
        HumanMessage(f"Look up both sides of {n}."),
        _said(*uses, provider="anthropic"),
        HumanMessage(
            [{"type": "tool_result", "tool_use_id": use["id"], "content": "found"} for use in uses]
        ),
        _said(_text(n), provider="anthropic"),
    ]


def results_and_a_question(n: str) -> History:
    """The same, and the user has gone on to ask something in the message with the results."""
    question, calls, results, answer = tool_results_in_one_message(n)
    asked = [*results.content, {"type": "text", "text": f"And what of {n}'s neighbors?"}]
    return [question, calls, HumanMessage(asked), answer]


def _looked_up(n: str, question: Any, *found: BaseMessage, **fields: Any) -> History:
    calls = AIMessage("", tool_calls=[_tool_call(n)], **fields)
    return [HumanMessage(question), calls, *found, AIMessage(f"That is {n}.")]


def cached(n: str) -> History:
    """Anthropic's cache marks, on a question and on a result."""
    mark = {"type": "text", "cache_control": {"type": "ephemeral"}}
    return _looked_up(n, [mark | {"text": f"What of {n}?"}], _found(n, [mark | {"text": "found"}]))


def invalid_calls(n: str) -> History:
    """A call whose arguments are no JSON, beside a sound one: both are sent, both are answered."""
    broken = {"name": "look_up", "args": "{about", "id": f"call_{n}x", "error": "no JSON"}
    failed = _found(f"{n}x", "not understood", status="error")
    return _looked_up(n, f"What of {n}?", failed, _found(n), invalid_tool_calls=[broken])


def pictures(n: str) -> History:
    """A question with a picture and a file, and a result that is a picture."""
    picture = {"type": "image_url", "image_url": {"url": PIXEL}}
    paper = {"type": "file", "file": {"filename": f"{n}.pdf", "file_data": "data:;base64,JVBERg=="}}
    question = [{"type": "text", "text": f"What is on {n}?"}, picture, paper]
    return _looked_up(n, question, _found(n, [picture]), HumanMessage([picture]))


def thought_signatures(n: str) -> History:
    """Gemini's signatures of its thoughts, kept beside the calls they belong to."""
    signed = {"__gemini_function_call_thought_signatures__": {f"call_{n}": "c2lnbmVk"}}
    found = _found(n, name="look_up")
    return _looked_up(n, f"What of {n}?", found, additional_kwargs=signed)


SPECIAL = {
    "MCP approvals": _special(mcp_approval, "openai_responses"),
    "client tool search": _special(client_tool_search, "openai_responses"),
    "apply patch": _special(apply_patch, "openai_responses"),
    "custom tools": _special(custom_tool, "openai_responses"),
    "computer use": _special(computer_use, "openai_responses"),
    "reasoning items": _special(reasoning, "openai_responses"),
    "thinking with tool use": _special(thinking, "anthropic"),
    "server tools": _special(server_tools, "anthropic"),
    "tool results in one user message": _special(tool_results_in_one_message, "anthropic"),
    "tool results and a question": _special(results_and_a_question, "anthropic"),
    "cache marks": _special(cached, "anthropic"),
    "invalid calls": _special(invalid_calls, "openai_chat"),
    "pictures and files": _special(pictures, "openai_chat"),
    "thought signatures": _special(thought_signatures, "gemini"),
}
