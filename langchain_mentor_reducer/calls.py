"""Tool calls and the results that answer them, as they stand in messages.

Two tables say which content blocks call and which answer; a provider's new block is one
new row. Every other module asks `calls_of` and `answers_of` and knows no block by name.
Nothing in here knows of turns or budgets.
"""

from collections.abc import Collection, Iterator
from typing import Any, Final

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    FunctionMessage,
    ToolCall,
    ToolMessage,
)

CALLS: Final = {
    "apply_patch_call": "call_id",
    "computer_call": "call_id",
    "custom_tool_call": "call_id",
    "function_call": "call_id",
    "invalid_tool_call": "id",
    "mcp_approval_request": "id",
    "tool_call": "id",
    "tool_call_chunk": "id",
    "tool_search_call": "call_id",
    "tool_use": "id",
}
"""Blocks of an `AIMessage` that call, and the key that holds the call's id."""

ANSWERS: Final = {
    "apply_patch_call_output": "call_id",
    "mcp_approval_response": "approval_request_id",
    "tool_result": "tool_use_id",
    "tool_search_output": "call_id",
}
"""Blocks of a user message that answer, and the key that holds the id of the call."""

UNANSWERABLE: Final = frozenset(
    {
        "apply_patch_call",
        "computer_call",
        "custom_tool_call",
        "mcp_approval_request",
        "tool_search_call",
    }
)
"""Blocks that call for a result of a form that cannot be made up."""

THOUGHTS: Final = frozenset({"reasoning", "redacted_thinking", "thinking"})
"""Blocks that say nothing without what they led to."""

_SILENT: Final = THOUGHTS | CALLS.keys()

Call = str | tuple[str, str]
"""What pairs an answer with its call: an id, or `("function", name)` of a legacy call."""


def calls_of(message: BaseMessage) -> list[Call]:
    """List the calls that `message` makes and that another message must answer.

    ```python
    from langchain_core.messages import AIMessage
    from langchain_mentor_reducer.calls import calls_of

    call = {"name": "look_up", "args": {}, "id": "call_1"}
    assert calls_of(AIMessage("", tool_calls=[call])) == ["call_1"]
    ```

    Only an `AIMessage` calls. Its `tool_calls` alone are not enough: computer use, patches,
    client-side tool search and approvals stand in the content only, and providers send invalid
    calls as calls too. A call that the message holds twice is listed twice.
    """
    calls: list[Call] = []
    if not isinstance(message, AIMessage):
        return calls
    for call in message.tool_calls:
        if id_ := call["id"]:
            calls.append(id_)  # noqa: PERF401 - quicker for the few that a message holds
    if message.invalid_tool_calls:
        calls += [id_ for call in message.invalid_tool_calls if (id_ := call["id"])]
    if type(message.content) is not str:
        calls += _ids(message.content, CALLS)
    if message.additional_kwargs:
        # OpenAI's Responses items under `output_version="v0"`.
        calls += _ids(message.additional_kwargs.get("tool_outputs"), CALLS)
        legacy = message.additional_kwargs.get("function_call")
        if isinstance(legacy, dict) and (name := legacy.get("name")):
            calls.append(("function", name))
    return calls


def answers_of(message: BaseMessage) -> dict[int, Call]:
    """Map each part of `message` that answers a call to that call.

    A tool result is one part. A user message has a part for each content block, for one
    may answer several calls and ask something besides.
    """
    if isinstance(message, ToolMessage):
        return {0: id_} if (id_ := message.tool_call_id) else {}
    if isinstance(message, FunctionMessage):
        return {0: ("function", message.name)} if message.name else {}
    answers: dict[int, Call] = {}
    if not isinstance(message.content, str):
        for part, block in enumerate(message.content):
            if call := _id(block, ANSWERS):
                answers[part] = call
    return answers


def only_answers(message: BaseMessage) -> bool:
    """Tell whether a user message is made of answers alone, and so asks nothing."""
    for block in message.content:  # most have one, which asks
        if str(_unwrap(block).get("type")) not in ANSWERS:
            return False
    return len(message.content) > 0


def without(message: BaseMessage, parts: Collection[int]) -> BaseMessage | None:
    """Return what is left of `message` less some of its parts, or None.

    The parts are keys of `answers_of(message)`. A user message comes back as a copy
    with the same id and metadata; it is the only message that is ever copied.
    """
    if isinstance(message, (ToolMessage, FunctionMessage)):
        return None
    left = [block for part, block in enumerate(message.content) if part not in parts]
    return message.model_copy(update={"content": left}) if left else None


def says(message: BaseMessage) -> bool:
    """Tell whether an `AIMessage` holds anything that would be sent besides its calls."""
    if type(message.content) is str and (message.content or not message.additional_kwargs):
        return bool(message.content)
    return bool(message.additional_kwargs.get("audio")) or any(
        block.get("type") not in _SILENT and block.get("text") != "" for block in _blocks(message)
    )


def makes_again(before: AIMessage, message: AIMessage, call: Call) -> bool:
    """Tell whether `message` makes a call word for word as `before` does."""
    made = [each for m in (before, message) for each in m.tool_calls if each["id"] == call]
    return len(made) > 1 and all(each == made[0] for each in made)


def unanswerable(message: BaseMessage) -> set[Call]:
    """List the calls of an `AIMessage` whose result cannot be made up."""
    keys = {kind: CALLS[kind] for kind in UNANSWERABLE}
    return set(_ids(list(_blocks(message)), keys))


def error_result(call: Call, name: str | None, text: str) -> BaseMessage:
    """Make an error that answers a call, and that can be told from a tool's own."""
    if isinstance(call, tuple):
        return FunctionMessage(content=text, name=call[1])
    ours = {"mended": True}
    return ToolMessage(text, tool_call_id=call, name=name, status="error", additional_kwargs=ours)


def with_calls(
    message: AIMessage, stay: Collection[Call], valid: Collection[str | None] = ()
) -> AIMessage:
    """Return `message` with each of some of its calls once, and no other.

    Args:
        message: It comes back as it is where that says the same, otherwise as a copy.
        stay: The calls.
        valid: Invalid calls that become calls without arguments.
    """
    calls = {call["id"]: call for call in message.tool_calls if call["id"] in stay}
    invalid = {call["id"]: call for call in message.invalid_tool_calls if call["id"] in stay}
    for id_ in valid:
        name = invalid.pop(id_)["name"] or "unknown"
        calls.setdefault(id_, ToolCall(name=name, args={}, id=id_, type="tool_call"))
    kwargs = dict(message.additional_kwargs)
    legacy = kwargs.get("function_call")
    if isinstance(legacy, dict) and ("function", legacy.get("name")) not in stay:
        del kwargs["function_call"]
    if isinstance(kwargs.get("tool_outputs"), list):
        kwargs["tool_outputs"] = _less(kwargs["tool_outputs"], stay)
    content: Any = message.content
    content = content if type(content) is str else _less(content, stay)
    update = {
        "content": content,
        "tool_calls": list(calls.values()),
        "invalid_tool_calls": list(invalid.values()),
        "additional_kwargs": kwargs,
    }
    if all(value == getattr(message, field) for field, value in update.items()):
        return message
    kwargs.pop("tool_calls", None)  # what a converter falls back to
    return message.model_copy(update=update)


def _less(blocks: list[Any], stay: Collection[Call]) -> list[Any]:
    """Leave out blocks of calls, and the reasoning that led to them alone."""
    left: list[Any] = []
    for block in blocks:
        id_ = _id(block, CALLS)
        if id_ is None or id_ in stay:
            left.append(block)
            continue
        while left and _unwrap(left[-1]).get("type") == "reasoning":
            left.pop()
    return left


def _blocks(message: BaseMessage) -> Iterator[dict[str, Any]]:
    """List the blocks of an `AIMessage` unwrapped, those beside its content too."""
    for blocks in (message.content, message.additional_kwargs.get("tool_outputs")):
        if isinstance(blocks, list):
            yield from map(_unwrap, blocks)


def _ids(blocks: object, keys: dict[str, str]) -> Iterator[str]:
    if isinstance(blocks, list):
        yield from (id_ for block in blocks if (id_ := _id(block, keys)))


def _id(block: object, keys: dict[str, str]) -> str | None:
    block = _unwrap(block)
    kind = block.get("type")
    if not isinstance(kind, str) or kind not in keys:
        return None
    id_ = block.get(keys[kind])
    return id_ if isinstance(id_, str) else None


def _unwrap(block: object) -> dict[str, Any]:
    """Return the provider's own block; a plain string holds nothing to pair."""
    if not isinstance(block, dict):
        return {}
    if block.get("type") != "non_standard":
        return block
    inner = block.get("value")
    return inner if isinstance(inner, dict) else block
