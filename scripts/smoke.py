"""The shortest use of each way in, where the wheel alone is installed: `smoke.py [agents]`."""

import json
import subprocess
import sys
from typing import Annotated, TypedDict

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.graph import START, StateGraph

from langchain_mentor_reducer import (
    MentorChatReducer,
    MentorChatReducerNode,
    bounded_messages,
    reduce_messages,
)


class CountingModel(BaseChatModel):
    """Answers with the roles of the messages that it was sent."""

    @property
    def _llm_type(self) -> str:
        return "counting"

    def _generate(self, messages: list[BaseMessage], *_: object, **__: object) -> ChatResult:
        answer = AIMessage(" ".join(message.type for message in messages))
        return ChatResult(generations=[ChatGeneration(message=answer)])


class State(TypedDict):
    """A chat history that bounds itself."""

    messages: Annotated[list[AnyMessage], bounded_messages(4)]


def check(actual: object, expected: object) -> None:
    """Stop with both when they differ."""
    if actual != expected:
        sys.exit(f"expected {expected!r}, got {actual!r}")


system = SystemMessage("Answer briefly.")
old: list[AnyMessage] = [HumanMessage("Hello"), AIMessage("Hi")]
call = {"name": "add", "args": {"a": 1, "b": 2}, "id": "call-1"}
new: list[AnyMessage] = [
    HumanMessage("1 + 2?"),
    AIMessage("", tool_calls=[call]),
    ToolMessage("3", tool_call_id="call-1"),
]
history: list[AnyMessage] = [system, *old, *new]

check(reduce_messages(history, max_messages=3), [system, *new])
check(MentorChatReducer(3).invoke(history), [system, *new])
check(
    (reduce_messages(max_messages=3) | CountingModel()).invoke(history).text, "system human ai tool"
)
check(MentorChatReducerNode(3).invoke({"messages": history})["llm_input_messages"], [system, *new])

builder = StateGraph(State)
builder.add_node("model", lambda state: {"messages": CountingModel().invoke(state["messages"])})
builder.add_edge(START, "model")
answer = builder.compile().invoke({"messages": history})["messages"]
check([message.type for message in answer], ["system", "human", "ai", "tool", "ai"])

command = [sys.executable, "-I", "-m", "langchain_mentor_reducer", "--max-messages", "3", "--json"]
json.loads(subprocess.check_output(command, text=True))

if "agents" in sys.argv:
    from langchain.agents import create_agent

    from langchain_mentor_reducer import MentorChatReducerMiddleware

    agent = create_agent(CountingModel(), middleware=[MentorChatReducerMiddleware(3)])
    answer = agent.invoke({"messages": [*old, *old, HumanMessage("And you?")]})["messages"]
    check(answer[-1].text, "human ai human")
else:
    try:
        from langchain_mentor_reducer import MentorChatReducerMiddleware
    except ImportError as error:
        check("langchain-mentor-reducer[agents]" in str(error), expected=True)
    else:
        sys.exit("without the extra, the middleware cannot be there")
