"""What type checkers must make of the public names; checked by `make lint`, never run."""

from typing import assert_type

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langchain_core.prompt_values import ChatPromptValue
from langgraph.graph import MessagesState

from langchain_mentor_reducer import MentorChatReducer, Reduction, mend_messages, reduce_messages


def one_token(message: BaseMessage) -> int:
    """Count one message."""
    return len(message.text)


def many_tokens(messages: list[BaseMessage]) -> int:
    """Count a list of messages."""
    return len(messages)


def function(state: MessagesState, history: list[HumanMessage], prompt: ChatPromptValue) -> None:
    """A list of some messages gives a list of the same, and no list a runnable."""
    assert_type(reduce_messages(state["messages"], max_messages=50), list[AnyMessage])
    assert_type(reduce_messages(history, max_messages=50, max_turns=3), list[HumanMessage])
    assert_type(reduce_messages([("user", "Hi")], max_messages=50), list[BaseMessage])
    assert_type(mend_messages(history), list[HumanMessage])
    assert_type(mend_messages([("user", "Hi")]), list[BaseMessage])
    assert_type(reduce_messages(prompt, max_tokens=9), list[BaseMessage])
    assert_type(reduce_messages(max_messages=50), MentorChatReducer)
    reduce_messages(max_tokens=9, token_counter=one_token, trim_to=0.6)
    reduce_messages(max_tokens=9, token_counter=many_tokens, overflow="error")
    reduce_messages(max_tokens=9, token_counter="approximate")  # noqa: S106
    reduce_messages(max_messages=9, starts_turn=lambda message: bool(message.text))


def node(state: MessagesState) -> MessagesState:
    """The window may be what a node returns."""
    return {"messages": reduce_messages(state["messages"], max_messages=50)}


def runnable(history: list[BaseMessage]) -> None:
    """The runnable takes messages and returns messages."""
    reducer = MentorChatReducer(50, overflow="keep", name="window")
    assert_type(reducer.invoke(history), list[BaseMessage])
    assert_type(reducer.explain(history), Reduction)
    assert_type(reducer.explain(history).kept, list[BaseMessage])


def refused(history: list[AIMessage]) -> None:
    """What would be refused when it runs is refused before."""
    reduce_messages(history, max_mesages=50)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    MentorChatReducer(50, overflow="drop")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    MentorChatReducer("50")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    MentorChatReducer(50, 3)  # type: ignore[call-arg, arg-type]  # pyright: ignore[reportCallIssue]
