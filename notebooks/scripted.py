"""The model behind the notebooks: a scripted one, or a real one where a key is set.

The script answers from what stands in the window, and only from that: cut the wrong message, and
it does not know. Like a provider, it refuses a tool result without its call, and the other way
round.
"""

import os
from collections.abc import Iterator, Sequence
from typing import Any

from langchain.chat_models import init_chat_model
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import tool

REAL = {"ANTHROPIC_API_KEY": "anthropic:claude-haiku-4-5", "OPENAI_API_KEY": "openai:gpt-5-mini"}


def chat_model() -> BaseChatModel:
    """Return the real model whose key is set, or else the scripted one."""
    for key, model in REAL.items():
        if os.environ.get(key):
            return init_chat_model(model)
    return ScriptedModel()


# --- The island ----------------------------------------------------------------------------------

INSTRUCTIONS = "You help visitors of the island. Look things up before you answer."
FERRIES = "17:40 from the east pier, 19:10 from the west pier, 21:00 from the east pier"
PATH = {"the harbor": ("the mill", 8), "the mill": ("the chapel", 8), "the chapel": ("the pier", 9)}


@tool
def ferries() -> str:
    """List this evening's ferries."""
    return FERRIES


@tool
def walk(start: str, minutes: int) -> str:
    """Walk one stage of the path from the harbor, having walked so many minutes."""
    end, takes = PATH[start]
    return f"at {end} after {minutes + takes} minutes"


@tool
def price(number: int) -> str:
    """Look up what a sight costs."""
    return f"sight {number} costs {3 + number % 5}"


TOOLS = [ferries, walk, price]


# --- The script ----------------------------------------------------------------------------------

FIRST = "Which ferries go back this evening?"
SECOND = "And the second one: how long do we walk from the harbor to its pier?"
PRICE = "What does sight {} cost?"


class RefusedError(Exception):
    """What a provider answers with a status 400."""


class ScriptedModel(BaseChatModel):
    """A guide to the island that knows what its window tells it."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(
        self,
        tools: Sequence[object],  # noqa: ARG002 - the script knows them by name
        **_: object,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - as `BaseChatModel` has it
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **_: object,
    ) -> ChatResult:
        refuse_strays(messages)
        return ChatResult(generations=[ChatGeneration(message=answer(messages))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: object,
    ) -> Iterator[ChatGenerationChunk]:
        whole = self._generate(messages, stop, run_manager).generations[0].message
        for word in whole.text.split(" "):
            yield ChatGenerationChunk(message=AIMessageChunk(content=f"{word} "))


def refuse_strays(window: list[BaseMessage]) -> None:
    """Refuse what every provider refuses: a result without its call, a call without its result."""
    open_calls: set[str | None] = set()
    for message in window:
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in open_calls:
                reason = f"400: a tool result without its call ({message.text!r})"
                raise RefusedError(reason)
            open_calls.remove(message.tool_call_id)
        elif open_calls:
            break
        elif isinstance(message, AIMessage):
            open_calls = {call["id"] for call in message.tool_calls}
    if open_calls:
        reason = f"400: a tool call without its result ({', '.join(map(str, open_calls))})"
        raise RefusedError(reason)


def answer(window: list[BaseMessage]) -> AIMessage:  # noqa: PLR0911 - a script is a list of answers
    """Answer the newest question from the window."""
    questions = [message.text for message in window if isinstance(message, HumanMessage)]
    results = [message.text for message in window if isinstance(message, ToolMessage)]
    question = questions[-1] if questions else ""
    found = window[-1].text if isinstance(window[-1], ToolMessage) else ""
    if not questions:
        return AIMessage("What would you like to know?")
    if question == FIRST:
        return AIMessage("Three: at 17:40, 19:10 and 21:00.") if found else call("ferries")
    if question == SECOND:
        if found.startswith("at "):
            place, minutes = found.removeprefix("at ").removesuffix(" minutes").split(" after ")
            if place == "the pier":
                return AIMessage(f"You walk for {minutes} minutes.")
            return call("walk", start=place, minutes=int(minutes))
        if FERRIES in results:
            return call("walk", start="the harbor", minutes=0)
        return AIMessage("The second what?")
    if question.startswith("What does sight "):
        number = int("".join(filter(str.isdigit, question)))
        return AIMessage(f"It is {found}.") if found else call("price", number=number)
    seen = sum(not isinstance(message, SystemMessage) for message in window)
    plural = "" if seen == 1 else "s"
    return AIMessage(f"I see {seen} message{plural}, from {questions[0]!r} on.")


def call(name: str, **args: Any) -> AIMessage:
    """Make a message that calls a tool; its id tells what for."""
    id_ = "-".join(map(str, [name, *args.values()])).replace(" ", "-")
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": id_}])
