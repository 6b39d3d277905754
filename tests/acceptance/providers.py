"""The order rules of each provider, by our own reading of its documents and of recorded refusals.

Nobody but us vouches for these: a provider publishes no validator (Mistral aside), so they are
what is left to check a wire form with. Each function takes the messages in the provider's form and
yields what it would refuse, first thing first. Only order is judged: who follows whom, and that
calls and results belong together. A schema is none of our business.
"""

from collections.abc import Iterator
from itertools import groupby, pairwise
from typing import Any

Wire = list[dict[str, Any]]

# The Responses items that call and that answer, and the fields of theirs that must agree.
ANSWERS = {
    "function_call_output": "call_id",
    "custom_tool_call_output": "call_id",
    "computer_call_output": "call_id",
    "apply_patch_call_output": "call_id",
    "tool_search_output": "call_id",
    "mcp_approval_response": "approval_request_id",
}
CALLS = {
    "function_call": "call_id",
    "custom_tool_call": "call_id",
    "computer_call": "call_id",
    "apply_patch_call": "call_id",
    "tool_search_call": "call_id",
    "mcp_approval_request": "id",
}
# An approval request may be left open: the model goes on without that tool.
MAY_STAY_OPEN = frozenset({"mcp_approval_request"})


def openai_chat(messages: Wire) -> Iterator[str]:
    """Chat Completions: results right after their call, one for each, and none without it."""
    if not messages:
        yield "no message"
    open_calls: set[str] = set()
    may_answer: set[str] = set()
    for place, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in may_answer:
                yield f"message {place}: a tool result without its call right before"
            open_calls.discard(message["tool_call_id"])
            continue
        if open_calls:
            yield f"message {place}: calls not answered before it: {sorted(open_calls)}"
        open_calls = {call["id"] for call in message.get("tool_calls") or ()}
        may_answer = set(open_calls)
    if open_calls:
        yield f"the end: calls not answered: {sorted(open_calls)}"


def openai_responses(items: Wire, *, store: bool = True, chained: bool = False) -> Iterator[str]:
    """Responses: call and output both there, by id; reasoning keeps the item it led to.

    `chained` says that the request continues a stored response, which then holds the calls.
    """
    if not items:
        yield "no item"
    made = {_id for item in items if (_id := item.get(CALLS.get(item.get("type", ""), "")))}
    answered = {_id for item in items if (_id := item.get(ANSWERS.get(item.get("type", ""), "")))}
    for place, item in enumerate(items):
        kind = item.get("type", "")
        if kind in ANSWERS and not chained:
            answers = item.get(ANSWERS[kind])
            if answers and answers not in made:
                yield f"item {place}: a {kind} without its call"
        # A search for tools that the server runs is answered there: recorded requests hold it
        # alone.
        if kind in CALLS and kind not in MAY_STAY_OPEN and item.get("execution") != "server":
            made_id = item.get(CALLS[kind])
            if made_id and made_id not in answered:
                yield f"item {place}: a {kind} that nothing answers"
        if kind == "reasoning" and not _followed(item, items[place + 1 : place + 2], store=store):
            yield f"item {place}: a reasoning item without the item that must follow it"


def _followed(reasoning: dict[str, Any], following: Wire, *, store: bool) -> bool:
    """Whether what follows is the model's; behind a stored item, the very item stored with it."""
    for item in following:
        if item.get("role", "assistant") != "assistant" or item.get("type") in ANSWERS:
            return False
        by_hand = "role" in item and "id" not in item
        return not (by_hand and store and "id" in reasoning)
    return False


def anthropic(messages: Wire) -> Iterator[str]:
    """Messages: results first in the user turn right after their call; no blank text."""
    if not messages:
        yield "no message"
    calls: set[str] = set()
    for place, (role, blocks) in enumerate(_runs(messages)):
        if role == "user":
            yield from (f"turn {place}: {reason}" for reason in _user_turn(blocks, calls))
        elif calls and role == "assistant":
            yield f"turn {place}: calls not answered before it: {sorted(calls)}"
        if role != "system":
            calls = {block["id"] for block in blocks if block["type"] == "tool_use"}
    if calls:
        yield f"the end: calls not answered: {sorted(calls)}"


def _user_turn(blocks: Wire, calls: set[str]) -> Iterator[str]:
    """What is wrong with a user turn, given the calls of the turn before."""
    results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    if not blocks or any(block["type"] == "text" and not block["text"].strip() for block in blocks):
        yield "blank text"
    if not set(results) <= calls:
        yield "a tool result without its call right before"
    if not calls <= set(results):
        yield f"calls not answered in it: {sorted(calls - set(results))}"
    if any(block["type"] != "tool_result" for block in blocks[: len(results)]):
        yield "something stands before the tool results"


def _runs(messages: Wire) -> Iterator[tuple[str, Wire]]:
    """Neighbors of one role count as one turn; a bare text is a text block."""
    for role, run in groupby(messages, key=lambda message: message["role"]):
        blocks: Wire = []
        for content in (message["content"] for message in run):
            blocks += [{"type": "text", "text": content}] if isinstance(content, str) else content
        yield role, blocks


def gemini(contents: Wire) -> Iterator[str]:
    """`generateContent`: calls after a user's or a response turn, as many responses as calls."""
    if not contents:
        yield "no content"
    turns = [
        (role, [part for content in run for part in content["parts"]])
        for role, run in groupby(contents, key=lambda content: content["role"])
    ]
    calls = 0
    for place, (role, parts) in enumerate(turns):
        responses = sum("functionResponse" in part or "function_response" in part for part in parts)
        if responses != calls:
            yield f"turn {place}: {responses} function responses to {calls} calls"
        calls = sum("functionCall" in part or "function_call" in part for part in parts)
        if calls and place == 0:
            yield "a function call without a user turn before it"
        if calls and role != "model":
            yield f"turn {place}: a function call in a turn of {role}"
    if calls:
        yield f"the end: {calls} calls without a response"


def bedrock(messages: Wire) -> Iterator[str]:
    """Converse: a user first and last, roles alternate, results of the calls right before."""
    if not messages:
        yield "no message"
        return
    if messages[0]["role"] != "user":
        yield "the first message is not the user's"
    if messages[-1]["role"] != "user":
        yield "the last message is not the user's"
    calls: set[str] = set()
    for place, message in enumerate(messages):
        if place and message["role"] == messages[place - 1]["role"]:
            yield f"message {place}: roles do not alternate"
        own = {block["toolUse"]["toolUseId"] for block in message["content"] if "toolUse" in block}
        results = {
            block["toolResult"]["toolUseId"]
            for block in message["content"]
            if "toolResult" in block
        }
        if message["role"] == "assistant":
            # A tool that the server runs is answered in the message that calls it.
            calls = own - results
        elif calls != results:
            yield f"message {place}: results {sorted(results)} to calls {sorted(calls)}"


MAY_FOLLOW = {
    "system": {"system", "user", "assistant"},
    "user": {"system", "user", "assistant"},
    "assistant": {"user", "assistant", "tool"},
    "tool": {"user", "assistant", "tool"},
}


def mistral(messages: Wire) -> Iterator[str]:
    """Chat completions: who may follow whom, as many results as calls, a user or a tool last."""
    roles = [message["role"] for message in messages]
    if not roles:
        yield "no message"
    if roles[:1] == ["tool"]:
        yield "the first message is a tool result"
    for place, (before, after) in enumerate(pairwise(roles), start=1):
        if after not in MAY_FOLLOW[before]:
            yield f"message {place}: {after} after {before}"
    if len(roles) > 1 and roles[-1] not in {"user", "tool"}:
        yield f"the last message is of {roles[-1]}"
    missing = 0
    # One more assistant closes the last step.
    for place, message in enumerate([*messages, {"role": "assistant"}]):
        if message["role"] == "tool":
            missing -= 1
        elif message["role"] == "assistant":
            if missing:
                yield f"message {place}: not as many results as calls before it"
            missing = len(message.get("tool_calls") or ())


def perplexity(messages: Wire) -> Iterator[str]:
    """Chat completions: system messages in front alone, then the user's turn."""
    roles = [role for role, _ in groupby(message["role"] for message in messages)]
    if "system" in roles[1:]:
        yield "a system message further down"
    if [role for role in roles if role != "system"][:1] != ["user"]:
        yield "the first message is not the user's"
