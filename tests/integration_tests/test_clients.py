"""Real clients against a provider that refuses what the real ones refuse."""

from collections.abc import Callable
from typing import Any

import anthropic
import openai
import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import wrap_model_call
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from langchain_mentor_reducer import MentorChatReducerMiddleware
from tests.integration_tests.provider import (
    Provider,
    provider,
    refused_chat,
    refused_messages,
    refused_responses,
)

STEPS = 200
BUDGET = 12
KEY = SecretStr("none")


@tool
def count(number: int) -> str:
    """Say the next number."""
    return str(number + 1)


def chat(server: Provider, **options: Any) -> Any:
    """OpenAI's chat completions."""
    address = f"{server.address}/v1"
    return ChatOpenAI(model="local", base_url=address, api_key=KEY, max_retries=0, **options)


def responses(server: Provider) -> Any:
    """OpenAI's responses."""
    return chat(server, use_responses_api=True)


def messages(server: Provider) -> Any:
    """Anthropic's messages."""
    options: Any = {"api_key": KEY, "max_retries": 0, "timeout": None, "stop": None}
    return ChatAnthropic(model_name="local", base_url=server.address, **options)


clients = pytest.mark.parametrize("client", [chat, responses, messages])


@wrap_model_call
def naive(request: Any, handler: Callable[[Any], Any]) -> Any:
    """Send the last messages."""
    return handler(request.override(messages=request.messages[-BUDGET:]))


def run(server: Provider, client: Callable[[Provider], Any], middleware: Any) -> str:
    """Ask an agent to count."""
    agent: Any = create_agent(client(server), [count], middleware=[middleware])
    asked = {"messages": [HumanMessage("Count.")]}
    return str(agent.invoke(asked, {"recursion_limit": 1000})["messages"][-1].text)


@clients
@pytest.mark.parametrize("persist", [False, True], ids=["view", "persist"])
def test_no_request_is_refused(client: Callable[[Provider], Any], persist: bool) -> None:  # noqa: FBT001
    """A run of 200 steps with a budget of 12 messages finishes without one refusal."""
    with provider(STEPS) as server:
        said = run(server, client, MentorChatReducerMiddleware(BUDGET, persist=persist))
        assert said == f"Counted to {STEPS}."
        assert server.refusals == []
        assert len(server.sizes) == STEPS + 1
        assert max(server.sizes) <= BUDGET


@clients
def test_naive_trimming_is_refused(client: Callable[[Provider], Any]) -> None:
    """The same run that sends the last 12 messages is refused."""
    errors = (openai.BadRequestError, anthropic.BadRequestError)
    with provider(STEPS) as server:
        with pytest.raises(errors):
            run(server, client, naive)
        assert len(server.refusals) == 1


CALL = {"id": "a", "type": "function", "function": {"name": "count", "arguments": "{}"}}
CALLING = {"role": "assistant", "content": None, "tool_calls": [CALL]}
USE = {"type": "tool_use", "id": "a", "name": "count", "input": {}}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "1"}]}
USER = {"role": "user", "content": "Count."}


@pytest.mark.parametrize(
    ("refused", "history"),
    [
        (refused_chat, []),
        (refused_chat, [USER, {"role": "tool", "tool_call_id": "a", "content": "1"}]),
        (refused_chat, [USER, CALLING]),
        (refused_chat, [USER, CALLING, USER]),
        (refused_responses, []),
        (refused_responses, [USER, {"type": "function_call", "call_id": "a"}]),
        (refused_responses, [USER, {"type": "function_call_output", "call_id": "a"}]),
        (refused_messages, []),
        (refused_messages, [USER, RESULT]),
        (refused_messages, [USER, {"role": "assistant", "content": [USE]}]),
        (refused_messages, [USER, {"role": "assistant", "content": [USE]}, USER, RESULT]),
        (refused_messages, [USER, {"role": "assistant", "content": "Well."}]),
        (refused_messages, [{"role": "user", "content": " "}]),
        (refused_messages, [{"role": "user", "content": [{"type": "text", "text": ""}]}]),
    ],
)
def test_the_provider_can_refuse(refused: Callable[[Any], str | None], history: Any) -> None:
    """Each rule of the provider refuses what breaks it."""
    assert refused(history)
