"""Calls and answers that are no tool calls and tool messages stay together all the same."""

from collections.abc import Iterator

import pytest
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage

from langchain_mentor_reducer import mend_messages, reduce_messages
from langchain_mentor_reducer.calls import answers_of, calls_of
from tests.acceptance import providers, special, wire
from tests.acceptance.rivals import sliced
from tests.acceptance.special import SPECIAL, History, Special


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


@pytest.mark.parametrize(
    # Server tools cannot be cut apart, and Gemini's converter drops results without their call.
    "case",
    [case for name, case in SPECIAL.items() if name not in {"server tools", "thought signatures"}],
    ids=[name for name in SPECIAL if name not in {"server tools", "thought signatures"}],
)
def test_a_slice_is_refused(case: Special) -> None:
    """Keeping just the last N breaks it for some N, so being accepted means something."""
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
    question = next(
        message
        for message in reversed(case.history)
        if isinstance(message, HumanMessage) and asks(message)
    )
    for window in windows(case.history):
        assert question.id in {message.id for message in window}


def asks(message: HumanMessage) -> bool:
    """Whether a message has something besides answers."""
    kinds = {block["type"] for block in message.content if isinstance(block, dict)}
    return isinstance(message.content, str) or bool(kinds & {"text", "image_url"})


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
        window = reduce_messages(history, max_messages=budget)
        assert providers_answers(window) <= providers_calls(window)


def providers_answers(history: History) -> set[str]:
    """The ids that items of the Responses form answer."""
    return _ids(history, providers.ANSWERS)


def providers_calls(history: History) -> set[str]:
    """The ids that items of the Responses form call with."""
    return _ids(history, providers.CALLS)


def _ids(history: History, table: dict[str, str]) -> set[str]:
    items = wire.openai_responses(history)
    return {item[table[item["type"]]] for item in items if item.get("type") in table}


def test_thinking_is_kept_byte_for_byte() -> None:
    """A kept step is sent with its thinking first, exactly as it was sent before."""
    case = SPECIAL["thinking with tool use"]
    whole = [m for m in wire.anthropic(case.history) if m["role"] == "assistant"]
    seen = 0
    for window in windows(case.history):
        for message in wire.anthropic(window):
            if message["role"] == "assistant":
                assert message in whole
                uses = [block["type"] for block in message["content"]]
                assert uses in (["thinking", "tool_use"], ["text"])
                seen += uses == ["thinking", "tool_use"]
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
    case = SPECIAL["reasoning items"]
    whole = wire.openai_responses(case.history)
    kept = 0
    for window in windows(case.history):
        items = wire.openai_responses(window)
        for place, item in enumerate(items):
            if item["type"] == "reasoning":
                assert items[place + 1] == whole[whole.index(item) + 1]
                kept += 1
    assert kept > 10


def test_server_tools_are_not_taken_apart() -> None:
    """A message that holds a server's call and its result is kept as it is, or goes as a whole."""
    history = SPECIAL["server tools"].history
    assert reduce_messages(history, max_messages=2)[1:] == history[-1:]
    assert reduce_messages(history, max_messages=3)[1:] == history[-3:]
    for window in windows(history):
        for message in wire.anthropic(window):
            if message["role"] == "assistant":
                kinds = [block["type"] for block in message["content"]]
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
    kept = 0
    for window in windows(SPECIAL["thought signatures"].history):
        for content in wire.gemini(window):
            for part in content["parts"]:
                if "function_call" in part:
                    assert part["thought_signature"] == b"signed"
                    kept += 1
    assert kept > 10


@pytest.mark.parametrize("form", [wire.openai_responses, wire.openai_chat])
def test_answers_alone_are_left_alone(form: wire.Form) -> None:
    """A client that chains with `previous_response_id` sends results alone: they all stay."""
    results: History = [ToolMessage("found", tool_call_id=f"call_{n}") for n in range(3)]
    window = reduce_messages(results, max_messages=3)
    assert form(window) == form(results)
    assert (
        next(providers.openai_responses(wire.openai_responses(window), chained=True), None) is None
    )
    assert (
        reduce_messages([SystemMessage("Be brief."), *results], max_messages=2)[1:] == results[1:]
    )


def test_stranded_results_leave_the_question() -> None:
    """Of a message with results and a question the question is left, under the same id."""
    history = special.results_and_a_question("1")[:3]
    history[2].id = "asked"
    (left,) = reduce_messages(history, max_messages=1)
    assert left.id == "asked"
    assert left.content == [{"type": "text", "text": "And what of 1's neighbors?"}]
    assert len(history[2].content) == 3
