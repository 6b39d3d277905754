"""Calls and answers that are no tool calls and tool messages stay together all the same."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage

from langchain_mentor_reducer import mend_messages, reduce_messages
from langchain_mentor_reducer.calls import answers_of, calls_of
from tests.acceptance import providers, special, wire
from tests.acceptance.rivals import sliced
from tests.acceptance.special import SPECIAL, History, Special
from tests.unit_tests.reference import newest_question


def said(history: History) -> Iterator[list[dict[str, Any]]]:
    """The blocks of each message of the model, as Anthropic gets them."""
    for message in wire.anthropic(history):
        if message["role"] == "assistant":
            yield message["content"]


def windows(history: History) -> Iterator[History]:
    """What is left with every budget, and every way to deal with a step that is over it."""
    for budget in range(1, len(history)):
        for options in ({}, {"overflow": "keep"}, {"trim_to": 0.6}):
            yield reduce_messages(history, max_messages=budget, **options)


every = pytest.mark.parametrize("case", SPECIAL.values(), ids=SPECIAL)


@every
def test_accepted_whole_and_reduced(case: Special) -> None:
    """The history is accepted as it is, and so is what any budget leaves of it."""
    assert case.objection(case.history) is None
    for window in windows(case.history):
        assert case.objection(window) is None


# Server tools cannot be cut apart, and Gemini's converter drops results without their call.
@pytest.mark.parametrize("name", sorted(SPECIAL.keys() - {"server tools", "thought signatures"}))
def test_a_slice_is_refused(name: str) -> None:
    """Keeping just the last N breaks it for some N, so being accepted means something."""
    case = SPECIAL[name]
    assert any(case.objection(sliced(case.history, n)) for n in range(1, len(case.history)))


def breakages(history: History) -> Iterator[History]:
    """Lose, double and move each call and each answer."""
    for i, message in enumerate(history):
        before, rest = history[:i], history[i + 1 :]
        if calls_of(message) or answers_of(message):
            yield [*before, *rest]
            yield [*before, message, message, *rest]
            yield [*before, HumanMessage("Wait."), message, *rest]
        if answers_of(message):
            yield [*before, *rest[:1], message, *rest[1:]]
            yield [*before[:-1], message, *before[-1:], *rest]


@every
def test_mended(case: Special) -> None:
    """What is broken at any place is accepted when it is mended."""
    assert mend_messages(case.history, answer_last=True) == case.history
    for broken in breakages(case.history):
        assert case.objection(mend_messages(broken, answer_last=True)) is None


@every
def test_the_same_objects(case: Special) -> None:
    """The kept messages are those that came in, but for a question freed of stranded results."""
    for window in windows(case.history):
        for message in window:
            original = next(m for m in case.history if m.id == message.id)
            assert message is original or (
                isinstance(message, HumanMessage)
                and set(map(str, message.content)) < set(map(str, original.content))
            )


@every
def test_the_newest_question_is_kept(case: Special) -> None:
    """The message that asks is kept, not the one that only answers."""
    question = newest_question(case.history)
    assert question is not None
    for window in windows(case.history):
        assert question.id in {message.id for message in window}


def test_an_approval_starts_no_turn() -> None:
    """An approval goes with its request: the budget of a turn holds both."""
    history = [*special.mcp_approval("1"), *special.mcp_approval("2")]
    assert reduce_messages(history, max_turns=1) == history[4:]
    assert reduce_messages(history, max_messages=7) == history[4:]


@pytest.mark.parametrize(
    "turn",
    [special.mcp_approval, special.client_tool_search, special.apply_patch, special.computer_use],
)
def test_an_answer_goes_with_its_call(turn: special.Turn) -> None:
    """In a turn over the budget no answer is left without the message that called."""
    history = turn("1")
    for budget in range(1, len(history)):
        items = wire.openai_responses(reduce_messages(history, max_messages=budget))
        assert list(providers.openai_responses(items)) == []


def test_thinking_is_kept_byte_for_byte() -> None:
    """A kept step is sent with its thinking first, exactly as it was sent before."""
    history = SPECIAL["thinking with tool use"].history
    whole, seen = list(said(history)), 0
    for window in windows(history):
        for blocks in said(window):
            assert blocks in whole
            kinds = [block["type"] for block in blocks]
            assert kinds in (["thinking", "tool_use"], ["text"])
            seen += kinds == ["thinking", "tool_use"]
    assert seen > 10


def test_thinking_bound_to_its_conversation() -> None:
    """The setting that lets newer Claude models take thinking from a cut history is sent on.

    They tie each thinking block to all that stood before it. No cut in front of one can be hidden
    from them, so docs/promise.md names this setting.
    """
    binding = {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    model = ChatAnthropic(
        model="claude-opus-5-5",
        api_key="unused",
        thinking={"type": "adaptive", **binding},
        betas=["thinking-binding-controls-2026-08-01"],
    )
    history = reduce_messages(SPECIAL["thinking with tool use"].history, max_messages=5)
    sent = model._get_request_payload(history)
    assert sent["thinking"]["block_binding"] == binding["block_binding"]
    assert sent["betas"] == ["thinking-binding-controls-2026-08-01"]


def test_reasoning_is_kept_with_what_it_led_to() -> None:
    """A kept message is sent with the items that it was sent with before, in their order."""
    history = SPECIAL["reasoning items"].history
    whole, kept = wire.openai_responses(history), 0
    for window in windows(history):
        for item, led_to in pairwise([*wire.openai_responses(window), {}]):
            if item["type"] == "reasoning":
                assert led_to == whole[whole.index(item) + 1]
                kept += 1
    assert kept > 10


def test_server_tools_are_not_taken_apart() -> None:
    """A message that holds a server's call and its result is kept as it is, or goes as a whole."""
    history = SPECIAL["server tools"].history
    assert reduce_messages(history, max_messages=2)[1:] == history[-1:]
    assert reduce_messages(history, max_messages=3)[1:] == history[-3:]
    for window in windows(history):
        for blocks in said(window):
            kinds = [block["type"] for block in blocks]
            assert kinds == ["server_tool_use", "web_search_tool_result", "text"]


def test_invalid_calls_are_calls() -> None:
    """The result of an invalid call goes when the message with the call goes, and not before."""
    history = special.invalid_calls("1")[:-1]
    question, calls, failed, found = history
    assert reduce_messages(history, max_messages=4) == [question, calls, failed, found]
    assert reduce_messages(history, max_messages=3) == [question]


def test_cache_marks_are_sent() -> None:
    """What is kept is sent with its cache marks, on the question and on the result."""
    history = special.cached("1")[:-1] + special.cached("2")[:-1]
    sent = wire.anthropic(reduce_messages(history, max_messages=3))
    marked = [block for message in sent for block in message["content"] if "cache_control" in block]
    assert [block["type"] for block in marked] == ["text", "tool_result"]


def test_thought_signatures_are_sent() -> None:
    """Every call that is kept is sent with the signature that Gemini gave it."""
    kept = [
        part["thought_signature"]
        for window in windows(SPECIAL["thought signatures"].history)
        for content in wire.gemini(window)
        for part in content["parts"]
        if "function_call" in part
    ]
    assert len(kept) > 10
    assert set(kept) == {b"signed"}


@pytest.mark.parametrize("form", [wire.openai_responses, wire.openai_chat])
def test_answers_alone_are_left_alone(form: wire.Form) -> None:
    """A client that chains with `previous_response_id` sends results alone: they all stay."""
    results: History = [ToolMessage("found", tool_call_id=f"call_{n}") for n in range(3)]
    window = reduce_messages(results, max_messages=3)
    assert form(window) == form(results)
    assert not list(providers.openai_responses(wire.openai_responses(window), chained=True))
    led = [SystemMessage("Be brief."), *results]
    assert reduce_messages(led, max_messages=2)[1:] == results[1:]


def test_stranded_results_leave_the_question() -> None:
    """Of a message with results and a question the question is left, under the same id."""
    history = special.results_and_a_question("1")[:3]
    history[2].id = "asked"
    (left,) = reduce_messages(history, max_messages=1)
    assert left.id == "asked"
    assert left.content == [{"type": "text", "text": "And what of 1's neighbors?"}]
    assert len(history[2].content) == 3
