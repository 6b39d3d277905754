"""Recorded requests that real providers answered, read back into messages.

What was recorded is the provider's own form. These readers turn it into what LangChain's
integrations would have made of the same conversation, so that LangChain's converters can make a
request of it again.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)

from langchain_mentor_reducer import reduce_messages
from tests.acceptance import providers, wire
from tests.acceptance.corners import corner_of
from tests.acceptance.corpus import DATA, History, lines

CASSETTES = DATA / "cassettes.jsonl.gz"
Request = dict[str, Any]


RULES: dict[str, Callable[[wire.Wire], Iterator[str]]] = {
    "openai-chat": providers.openai_chat,
    "anthropic": providers.anthropic,
    "google": providers.gemini,
    "bedrock-converse": providers.bedrock,
}
OWN_RULES = {"mistral": providers.mistral, "perplexity": providers.perplexity}
"""Two providers speak OpenAI's form with rules of their own."""


def objection(request: Request, messages: wire.Wire) -> str | None:
    """What our reading of a provider's rules has against sending it these messages."""
    if request["shape"] == "openai-responses":
        reasons = providers.openai_responses(
            messages,
            # Only OpenAI keeps items, unless it is told not to.
            store=request["provider"] == "openai" and request.get("store") is not False,
            chained=bool(request.get("previous_response_id") or request.get("conversation")),
        )
    else:
        reasons = OWN_RULES.get(request["provider"], RULES[request["shape"]])(messages)
    return next(reasons, None)


# --- readers -------------------------------------------------------------------------------------


def chat(request: Request) -> History:
    """Chat Completions: LangChain reads its form as it is."""
    # Some clients leave out the content of a message that calls.
    return convert_to_messages([{"content": "", **sent} for sent in request["request_messages"]])


def anthropic(request: Request) -> History:
    """Messages, as sent: tool results stay blocks of a user message."""
    return [
        _anthropic(message["role"], message["content"]) for message in request["request_messages"]
    ]


def anthropic_with_tool_messages(request: Request) -> History:
    """Messages, as an agent keeps them: each tool result a `ToolMessage`."""
    history: History = []
    for message in request["request_messages"]:
        role, content = message["role"], message["content"]
        if role == "user" and not isinstance(content, str):
            history += [
                ToolMessage(block.get("content") or "", tool_call_id=block["tool_use_id"])
                for block in content
                if block["type"] == "tool_result"
            ]
            content = [block for block in content if block["type"] != "tool_result"]
        if content or role != "user":
            history.append(_anthropic(role, content))
    return history


def _anthropic(role: str, content: str | list[Any]) -> HumanMessage | AIMessage | SystemMessage:
    if role != "assistant":
        return SystemMessage(content) if role == "system" else HumanMessage(content)
    calls = [
        {"name": block["name"], "args": block["input"], "id": block["id"]}
        for block in content
        if isinstance(block, dict) and block["type"] == "tool_use"
    ]
    made_by = {"model_provider": "anthropic"}
    return AIMessage(content, tool_calls=calls, response_metadata=made_by)


def responses(request: Request) -> History:
    """Responses: what the model said up to the next input item is one message, its items blocks."""
    history: History = []
    said: list[dict[str, Any]] = []

    def close() -> None:
        if said:
            history.append(_said(said))
            said.clear()

    for item in request["request_messages"]:
        heard = _heard(item)
        if heard is None:
            said.extend(_blocks(item))
        else:
            close()
            history.append(heard)
    close()
    return history


def _heard(item: dict[str, Any]) -> HumanMessage | SystemMessage | ToolMessage | None:
    """The message of an input item that is not the model's."""
    kind = item.get("type", "message")
    if kind in {"function_call_output", "custom_tool_call_output", "computer_call_output"}:
        return ToolMessage(
            item["output"], tool_call_id=item["call_id"], additional_kwargs={"type": kind}
        )
    if kind == "mcp_approval_response" or (
        kind == "tool_search_output" and item.get("execution") == "client"
    ):
        return HumanMessage([item])
    if kind == "additional_tools":
        return SystemMessage([item])
    if kind == "message" and item["role"] == "user":
        return HumanMessage(item["content"])
    if kind == "message" and item["role"] in {"system", "developer"}:
        return SystemMessage(item["content"], additional_kwargs={"__openai_role__": item["role"]})
    return None


def _blocks(item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The content blocks of an item of the model's."""
    if item.get("type", "message") != "message":
        yield item
        return
    content = item["content"]
    if isinstance(content, str):
        content = [{"type": "output_text", "text": content}]
    for block in content:
        named = {key: item[key] for key in ("id", "phase") if key in item}
        yield block | named | ({"type": "text"} if block["type"] == "output_text" else {})


def _said(blocks: list[dict[str, Any]]) -> AIMessage:
    calls = [
        {"name": block["name"], "args": {}, "id": block["call_id"]}
        for block in blocks
        if block["type"] == "function_call"
    ]
    made_by = {"model_provider": "openai"}
    return AIMessage(list(blocks), tool_calls=calls, response_metadata=made_by)


# --- the run -------------------------------------------------------------------------------------

FORMS = {
    "openai-chat": "Chat Completions (OpenAI and others)",
    "openai-responses": "OpenAI Responses",
    "anthropic": "Anthropic Messages",
    "google": "Gemini",
    "bedrock-converse": "Bedrock Converse",
}
READERS: dict[str, list[tuple[Callable[[Request], History], wire.Form]]] = {
    "openai-chat": [(chat, wire.openai_chat)],
    "openai-responses": [(responses, wire.openai_responses)],
    "anthropic": [(r, wire.anthropic) for r in (anthropic, anthropic_with_tool_messages)],
}
TOLERANT = {"ollama": "answers although a call is left open"}
"""Providers that are known to accept more than the others whose form they share."""


@dataclass
class Recorded:
    """What became of the recorded requests of one form."""

    answered: int = 0
    order_refused: int = 0
    misjudged: list[str] = field(default_factory=list)
    """Answered requests that we call broken, and order refusals that we call fine."""
    tolerated: Counter[str] = field(default_factory=Counter)
    unreadable: list[str] = field(default_factory=list)
    reductions: int = 0
    cornered: Counter[str] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)


def check() -> dict[str, Recorded]:
    """Judge what was recorded; then reduce it, and judge what LangChain would send of it."""
    results = {form: Recorded() for form in FORMS}
    for request in lines(CASSETTES):
        if request["shape"] in FORMS:
            result = results[request["shape"]]
            if request["status"] == HTTPStatus.OK or request.get("error_class") == "order":
                _judge(request, result)
            if request["status"] == HTTPStatus.OK:
                for reader, form in READERS.get(request["shape"], ()):
                    _reduce(request, reader(request), form, result)
    return results


def _judge(request: Request, result: Recorded) -> None:
    answered = request["status"] == HTTPStatus.OK
    result.answered += answered
    result.order_refused += not answered
    reason = objection(request, request["request_messages"])
    if answered and reason and request["provider"] in TOLERANT:
        result.tolerated[request["provider"]] += 1
    elif answered != (reason is None):
        result.misjudged.append(f"{request['id']} {request['roles']}: {reason}")


def _reduce(request: Request, before: History, form: wire.Form, result: Recorded) -> None:
    if reason := objection(request, form(before)):
        if request["provider"] not in TOLERANT:
            result.unreadable.append(f"{request['id']}: {reason}")
        return
    for budget in (1, 2, 3, 5, 8):
        after = reduce_messages(before, max_messages=budget)
        if len(after) == len(before):
            continue
        result.reductions += 1
        try:
            reason = objection(request, form(after))
        except ValueError as refusal:
            reason = str(refusal)
        if reason is None:
            continue
        if corner := corner_of(FORMS[request["shape"]], before, after):
            result.cornered[corner.name] += 1
        else:
            result.refused.append(f"{request['id']} {request['roles']}, {budget}: {reason}")
