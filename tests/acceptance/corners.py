"""The corners in which an accepted input may give a refused output, each with its reason.

They are counted apart and stand under the table; whatever is in no corner fails the run.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from tests.unit_tests.reference import (
    opens_no_call,
    strands_no_answer,
    unanswered_calls,
    unpaired_answers,
)

History = Sequence[BaseMessage]


@dataclass(frozen=True)
class Corner:
    """A kind of input for which no output is promised."""

    name: str
    reason: str
    holds: Callable[[History, History], bool]
    """Asked about an input and its output."""
    validators: frozenset[str] | None = None
    """Those it can happen with; None for any."""


def _without_question(before: History, after: History) -> bool:
    return not any(isinstance(message, HumanMessage) for message in before) and all(
        isinstance(message, SystemMessage) for message in after
    )


def _open_before(before: History, after: History) -> bool:
    return bool(unanswered_calls(after)) and opens_no_call(before, after)


def _lone_before(before: History, after: History) -> bool:
    return bool(unpaired_answers(after)) and strands_no_answer(before, after)


def _systems_further_down(before: History, after: History) -> bool:
    systems = [message for message in after if isinstance(message, SystemMessage)]
    return len(systems) > 1 and after[0] is systems[0] and before[0] is not systems[0]


CORNERS = (
    Corner(
        "no question",
        "A history without a single question has nothing that is always kept. Where its newest "
        "step is over the budget, nothing but the system message is left, and `overflow` decides "
        "about that.",
        _without_question,
    ),
    Corner(
        "a call left open",
        "The input held a call that was never answered, and another call with the same id that "
        "was. These validators (and the converter for Gemini) pair by id alone, wherever it "
        "stands, and so did not see the open one until the answered one was gone.",
        _open_before,
        frozenset({"LangGraph, ReAct agent", "OpenAI Responses", "Gemini"}),
    ),
    Corner(
        "a result of no call",
        "The input held a result whose call was nowhere in it, behind the results of another call. "
        "These templates look at the order of roles alone and took it for one of those. What "
        "belongs to no call in the input is left alone: a client that chains with "
        "`previous_response_id` sends results alone on purpose.",
        _lone_before,
        frozenset({"Mistral, template v13", "gpt-oss-120b, template"}),
    ),
    Corner(
        "system messages further down alone",
        "The input began with no system message and had several in a row further down. The first "
        "of them leads the output, the others stay where they are, and LangChain's converter for "
        "Anthropic takes system messages in one place only.",
        _systems_further_down,
        frozenset(
            {
                "Anthropic",
                "Anthropic, by turnsafe",
                "Anthropic, by toolrepair",
                "Anthropic Messages",
            }
        ),
    ),
)


def corner_of(validator: str, before: History, after: History) -> Corner | None:
    """The corner that a refused output stands in, if any."""
    for corner in CORNERS:
        if validator in (corner.validators or {validator}) and corner.holds(before, after):
            return corner
    return None
