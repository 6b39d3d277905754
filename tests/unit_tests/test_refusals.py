"""The check of windows that other tests rely on can fail."""

import pytest
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage, ToolMessage

from tests.refusals import refusal
from tests.scripted import call, calling

ASKED = HumanMessage("Both?")
CALLS = calling(call("look", "a"), call("look", "b"))
A, B = ToolMessage("A", tool_call_id="a"), ToolMessage("B", tool_call_id="b")


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([], "no messages"),
        ([A], "the result of a without its call"),
        ([ASKED, CALLS, A], "no result of b"),
        ([ASKED, CALLS, A, HumanMessage("Well?"), B], "no result of b"),
        ([ASKED, CALLS, A, B, A], "the result of a without its call"),
        ([ASKED, CALLS], "no result of a, b"),
    ],
)
def test_refused(messages: list[BaseMessage], reason: str) -> None:
    """What a provider refuses is found, with the reason."""
    assert refusal(messages) == reason


@pytest.mark.parametrize(
    "messages",
    [[ASKED], [ASKED, CALLS, B, A], [SystemMessage("S"), CALLS, A, B, ASKED, CALLS, A, B]],
)
def test_accepted(messages: list[BaseMessage]) -> None:
    """What a provider takes passes."""
    assert refusal(messages) is None
