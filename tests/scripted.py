"""A chat model that follows a script, and a script that depends on what the model sees.

Only the language model is replaced in the tests. What it answers is computed from its window, so a
reducer that cuts the wrong message gets the wrong answer.
"""

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool, tool
from pydantic import Field

Script = Callable[[list[BaseMessage]], AIMessage]


class ScriptedModel(BaseChatModel):
    """Answers with what its script makes of the window, and remembers every window."""

    script: Script
    windows: list[list[BaseMessage]] = Field(default_factory=list)
    bound: list[Any] = Field(default_factory=list)
    """The tools that it was given last."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Runnable[LanguageModelInput, AIMessage]:
        """Note the tools; the script knows them by name."""
        self.bound[:] = tools
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> ChatResult:
        del stop, run_manager
        self.windows.append(list(messages))
        answer = self.script(messages)
        return ChatResult(generations=[ChatGeneration(message=answer)])


def call(name: str, id_: str, **args: Any) -> dict[str, Any]:
    """Make a tool call for an `AIMessage`."""
    return {"name": name, "args": args, "id": id_, "type": "tool_call"}


def calling(*calls: dict[str, Any]) -> AIMessage:
    """Make a message that calls tools."""
    return AIMessage("", tool_calls=list(calls))


STEP: list[BaseMessage] = [
    HumanMessage("Both?"),
    calling(call("look", "a"), call("look", "b")),
    ToolMessage("A", tool_call_id="a"),
    ToolMessage("B", tool_call_id="b"),
]
"""A question, two calls at once and their results."""

# --- The guide -----------------------------------------------------------------------------------

FIRST = "How tall is the first tower on the list?"
SECOND = "and the second one?"
IGNORANT = "I do not know."
TOWERS = "first tower: 330; second tower: 100 + 120 + 113"


@tool
def read_list() -> str:
    """Read the list of towers."""
    return TOWERS


@tool
def climb(height: int, rest: list[int]) -> str:
    """Go up one section of a tower."""
    return f"at {height + rest[0]}, above: {' + '.join(map(str, rest[1:])) or 'sky'}"


GUIDE_TOOLS: list[BaseTool] = [read_list, climb]


def guide(window: list[BaseMessage]) -> AIMessage:
    """Answer questions about towers from the tool results in the window, and only from them.

    The second tower takes three steps, one for each section. What is not a question about towers
    is noted, and nothing more.
    """
    asked = max((i for i, m in enumerate(window) if isinstance(m, HumanMessage)), default=None)
    if asked is None:
        return AIMessage(IGNORANT)
    question = window[asked]
    results = [m.text for m in window if isinstance(m, ToolMessage)]
    last = window[-1].text
    id_ = f"call_{question.id}_{len(results)}_{last}"
    if question.text == FIRST:
        return AIMessage("330 m") if last == TOWERS else calling(call("read_list", id_))
    if question.text != SECOND:
        return AIMessage("Noted.")
    if last.startswith("at "):
        height, _, above = last.removeprefix("at ").partition(", above: ")
    elif TOWERS in results:
        height, above = "0", TOWERS.rpartition(": ")[2]
    else:
        return AIMessage(IGNORANT)
    if above == "sky":
        return AIMessage(f"{height} m")
    rest = [int(section) for section in above.split(" + ")]
    return calling(call("climb", id_, height=int(height), rest=rest))
