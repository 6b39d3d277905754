"""Messages in the form in which LangChain's own converters send them to each provider.

The converters refuse next to nothing, so they judge nothing here: they only give the form that a
validator reads. Several are private to their packages. Tests may lean on that: a new release that
moves one fails here, loudly.
"""

import json
import operator
import warnings
from collections.abc import Callable, Sequence
from functools import cache, wraps
from typing import Any

from langchain_anthropic import ChatAnthropic
from langchain_aws.chat_models.bedrock_converse import _messages_to_bedrock
from langchain_core.messages import BaseMessage
from langchain_google_genai.chat_models import _parse_chat_history
from langchain_mistralai.chat_models import _convert_message_to_mistral_chat_message
from langchain_openai.chat_models.base import (
    _construct_responses_api_input,
    _convert_message_to_dict,
)

Wire = list[dict[str, Any]]
Form = Callable[[Sequence[BaseMessage]], Wire]


def _once(form: Form) -> Form:
    """Remember the newest result: several validators read the same history, one after the other."""
    newest: list[tuple[list[BaseMessage], Wire]] = []

    @wraps(form)
    def remembered(messages: Sequence[BaseMessage]) -> Wire:
        if not newest or not same(newest[0][0], messages):
            newest[:] = [(list(messages), form(messages))]
        return newest[0][1]

    return remembered


def same(one: Sequence[BaseMessage], other: Sequence[BaseMessage]) -> bool:
    """Whether these are the same objects."""
    return len(one) == len(other) and all(map(operator.is_, one, other))


@_once
def openai_chat(messages: Sequence[BaseMessage]) -> Wire:
    """OpenAI Chat Completions: `messages`."""
    return [_convert_message_to_dict(message) for message in messages]


def openai_responses(messages: Sequence[BaseMessage]) -> Wire:
    """OpenAI Responses: `input`."""
    return _construct_responses_api_input(messages)


@cache
def _anthropic() -> ChatAnthropic:
    return ChatAnthropic(model="claude-sonnet-4-5", api_key="unused")


@_once
def anthropic(messages: Sequence[BaseMessage]) -> Wire:
    """Anthropic Messages: `messages`; the system message goes into a field of its own."""
    with warnings.catch_warnings():
        # A system message further down is moved to the front, with a warning. What is sent is all
        # that counts here.
        warnings.simplefilter("ignore", UserWarning)
        return _anthropic()._get_request_payload(list(messages))["messages"]


@_once
def mistral(messages: Sequence[BaseMessage]) -> Wire:
    """Mistral chat completions: `messages`."""
    return [_convert_message_to_mistral_chat_message(message) for message in messages]


def gemini(messages: Sequence[BaseMessage]) -> Wire:
    """Gemini `generateContent`: `contents`."""
    _, contents = _parse_chat_history(messages)
    return [content.model_dump(exclude_none=True) for content in contents]


def bedrock(messages: Sequence[BaseMessage]) -> Wire:
    """Bedrock Converse: `messages`."""
    return _messages_to_bedrock(list(messages))[0]


@_once
def template(messages: Sequence[BaseMessage]) -> Wire:
    """What a server hands to a chat template: OpenAI's form, its arguments decoded."""
    wire = [message | {"content": message["content"] or ""} for message in openai_chat(messages)]
    for message in wire:
        if "tool_calls" in message:
            message["tool_calls"] = [*map(_decoded, message["tool_calls"])]
    return wire


def _decoded(call: dict[str, Any]) -> dict[str, Any]:
    """The call with its arguments as an object; those of an invalid call stay the text they are."""
    try:
        arguments = json.loads(call["function"]["arguments"])
    except ValueError:
        return call
    return call | {"function": call["function"] | {"arguments": arguments}}


def cohere(messages: Sequence[BaseMessage]) -> Wire:
    """Cohere's prompt renderer: roles and fields under its own names, content always in blocks."""
    wire: Wire = []
    for message in openai_chat(messages):
        content = message["content"] or []
        turn = {
            "role": {"assistant": "chatbot"}.get(message["role"], message["role"]),
            "content": [{"type": "text", "text": content}] if isinstance(content, str) else content,
        }
        turn |= {"tool_call_id": message["tool_call_id"]} if "tool_call_id" in message else {}
        calls = [(call["id"], call["function"]) for call in message.get("tool_calls", ())]
        if calls:
            turn["tool_calls"] = [
                {"id": id_, "name": function["name"], "parameters": function["arguments"]}
                for id_, function in calls
            ]
        wire.append(turn)
    return wire
