"""Histories for property tests: as agents make them, and as nobody should.

Every history is built from a few small numbers, so that it is drawn fast and shrinks well. Every
text says where it was made, so that no two messages of a history are equal by chance.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    ChatMessageChunk,
    FunctionMessage,
    FunctionMessageChunk,
    HumanMessage,
    HumanMessageChunk,
    SystemMessage,
    SystemMessageChunk,
    ToolMessage,
    ToolMessageChunk,
)

from tests.benchmarks import cache
from tests.unit_tests.reference import ANSWER_BLOCKS, CALL_BLOCKS

LONGEST = 25
IDS = ("a", "b", "c", "d", "e")

History = list[BaseMessage]


def _text(place: int, word: str) -> str:
    """Make a text of its own, of a length that varies."""
    return f"{word}{place}" + "." * (place * 7 % 5)


def _block(place: int, word: str) -> dict[str, Any]:
    return {"type": "text", "text": _text(place, word)}


def _call(id_: str | None, name: str = "look") -> dict[str, Any]:
    return {"name": name, "args": {}, "id": id_}


# --- Well-formed ---------------------------------------------------------------------------------


class Step(NamedTuple):
    """What the model does before it answers: calls, and what comes back."""

    calls: int
    form: int
    order: int


class Turn(NamedTuple):
    """A question, the steps it takes, and how it closes."""

    form: int
    steps: list[Step]
    closes: bool


TOOLS, FAILED, APPROVAL, USER_RESULTS = range(4)


def _question(place: int, form: int) -> BaseMessage:
    if form == 0:
        return HumanMessage(_text(place, "question"))
    picture = {"type": "image_url", "image_url": {"url": f"https://example.com/{place}.png"}}
    content: list[Any] = [_block(place, "question"), picture]
    return HumanMessage(content[:form])


def _step(place: int, step: Step, first_id: int) -> History:
    """Make the message that calls, and the answers behind it."""
    ids = [IDS[(first_id + number) % len(IDS)] for number in range(step.calls)]
    if not ids:
        return [AIMessage(_text(place, "thought"))]
    answered = [*ids[step.order % len(ids) :], *ids[: step.order % len(ids)]]
    if step.order % 2:
        answered.reverse()
    if step.form == APPROVAL:
        response: dict[str, Any] = {"type": "mcp_approval_response", "n": place + 1}
        return [
            AIMessage([{"type": "mcp_approval_request", "id": id_, "n": place} for id_ in ids]),
            HumanMessage([response | {"approval_request_id": id_} for id_ in answered]),
        ]
    content: Any = [_block(place, "call")] if step.order % 3 == 1 else ""
    calling = AIMessage(content, tool_calls=[_call(id_) for id_ in ids])
    if step.form == USER_RESULTS:
        result: dict[str, Any] = {"type": "tool_result", "content": _text(place + 1, "result")}
        return [calling, HumanMessage([result | {"tool_use_id": id_} for id_ in answered])]
    results = [
        ToolMessage(_text(place + number, "result"), tool_call_id=id_)
        for number, id_ in enumerate(answered, 1)
    ]
    if step.form == FAILED:
        results[0].status = "error"
    return [calling, *results]


def _conversation(
    turns: Sequence[Turn], *, system: bool, greeting: bool, pending: int, first_id: int
) -> History:
    history: History = [SystemMessage("System.")] if system else []
    if greeting:
        history.append(AIMessage("Greeting."))
    for turn in turns:
        if len(history) >= LONGEST:
            break
        history.append(_question(len(history), turn.form))
        for step in turn.steps:
            history += _step(len(history), step, first_id + len(history))
        if turn.closes:
            history.append(AIMessage(_text(len(history), "answer")))
    if pending and turns:
        history.append(AIMessage("Pending.", tool_calls=[_call(id_) for id_ in IDS[:pending]]))
    return history


def _stamped(history: History) -> History:
    """Give every message an id of its own, on copies."""
    return [message.model_copy(update={"id": f"m{place}"}) for place, message in enumerate(history)]


def well_formed(
    *, plain: bool = False, pending: bool = True, with_ids: bool = False
) -> st.SearchStrategy[History]:
    """Conversations as agents make them.

    Args:
        plain: Whether every answer is a `ToolMessage`, as chat completions know it.
        pending: Whether the last message may be a call that waits for its answer.
        with_ids: Whether every message has an id of its own.
    """
    forms = st.integers(TOOLS, FAILED if plain else USER_RESULTS)
    steps = st.builds(Step, st.integers(0, 4), forms, st.integers(0, 5))
    turns = st.builds(
        Turn, st.integers(0, 2), st.lists(steps, max_size=4), st.booleans().map(lambda x: not x)
    )
    histories = st.builds(
        _conversation,
        st.lists(turns, max_size=6),
        system=st.booleans(),
        greeting=st.booleans(),
        pending=st.integers(0, 2 if pending else 0),
        first_id=st.integers(0, len(IDS) - 1),
    )
    return histories.map(_stamped) if with_ids else histories


def growing(
    *, plain: bool = False, with_ids: bool = False
) -> st.SearchStrategy[tuple[History, list[int]]]:
    """Conversations, each with the lengths of its prefixes at which the model is called."""
    return well_formed(plain=plain, pending=False, with_ids=with_ids).map(
        lambda history: (history, called_at(history))
    )


def called_at(history: Sequence[BaseMessage]) -> list[int]:
    """Name the lengths of the prefixes at which the model is called, the whole among them."""
    return [*cache.called_at(history), len(history)] if history else []


# --- Broken --------------------------------------------------------------------------------------

Odd = Callable[[int, str, str], BaseMessage]


def _wrapped(block: dict[str, Any]) -> dict[str, Any]:
    return {"type": "non_standard", "value": block}


def _calling(kind: str, *, wrap: bool = False) -> Odd:
    """Make calls that stand in the content."""

    def make(place: int, id_: str, _: str) -> BaseMessage:
        block = {"type": kind, CALL_BLOCKS[kind]: id_, "name": "look", "n": place}
        return AIMessage([_block(place, "call"), _wrapped(block) if wrap else block])

    return make


def _answering(kind: str, *, wrap: bool = False, both: bool = False, text: bool = False) -> Odd:
    """Make user messages with answers among their content."""

    def make(place: int, id_: str, other: str) -> BaseMessage:
        ids = [id_, other] if both else [id_]
        answers = [
            {"type": kind, ANSWER_BLOCKS[kind]: each, "n": f"{place}-{number}"}
            for number, each in enumerate(ids)
        ]
        content: list[Any] = [_wrapped(answer) if wrap else answer for answer in answers]
        return HumanMessage([*content, _block(place, "question")] if text else content)

    return make


def _chat(role: str, kind: type[ChatMessage] = ChatMessage) -> Odd:
    return lambda place, _id, _other: kind(content=_text(place, role), role=role)


def _chunk(arguments: str) -> Odd:
    def make(place: int, id_: str, _: str) -> BaseMessage:
        call: Any = {"name": "look", "args": arguments, "id": id_, "index": 0}
        return AIMessageChunk(content=_text(place, "call"), tool_call_chunks=[call])

    return make


def _result(place: int, id_: str | None) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id_, "n": place}


def _beside(place: int, **kwargs: Any) -> AIMessage:
    return AIMessage(_text(place, "call"), additional_kwargs=kwargs)


# The first few make up heaps of their own, so that ids meet often.
COMMON = 8
ODD: list[Odd] = [
    lambda place, _, __: HumanMessage(_text(place, "question")),
    lambda place, _, __: AIMessage(_text(place, "answer")),
    lambda place, a, _: AIMessage(_text(place, "call"), tool_calls=[_call(a)]),
    lambda place, a, _: ToolMessage(_text(place, "result"), tool_call_id=a),
    lambda place, a, b: AIMessage(_text(place, "call"), tool_calls=[_call(a), _call(b)]),
    lambda place, _, b: ToolMessage(_text(place, "result"), tool_call_id=b),
    _answering("tool_result", both=True),
    _answering("tool_result", both=True, text=True),
    # System messages in odd places, and every role.
    lambda place, _, __: SystemMessage(_text(place, "system")),
    lambda place, _, __: SystemMessageChunk(content=_text(place, "system")),
    *map(_chat, ["user", "human", "assistant", "system", "developer", "tool", "function", "x"]),
    _chat("user", ChatMessageChunk),
    lambda place, a, _: ChatMessage(content=[_result(place, a)], role="user"),
    # Chunks.
    lambda place, _, __: HumanMessageChunk(content=_text(place, "question")),
    _chunk("{}"),
    _chunk("{"),
    lambda place, a, _: ToolMessageChunk(content=_text(place, "result"), tool_call_id=a),
    # Ids that are empty or missing.
    lambda place, _, __: ToolMessage(_text(place, "result"), tool_call_id=""),
    lambda place, _, __: AIMessage(_text(place, "call"), tool_calls=[_call("")]),
    lambda place, _, __: AIMessage(_text(place, "call"), tool_calls=[_call(None)]),
    lambda place, _, __: HumanMessage([{"type": "tool_result", "n": place}]),
    lambda place, a, _: HumanMessage([_result(place, ""), {"type": a}]),
    lambda place, _, b: HumanMessage([_result(place, None), _result(place, b)]),
    # Legacy functions.
    lambda place, a, _: _beside(place, function_call={"name": a, "arguments": "{}"}),
    lambda place, a, _: FunctionMessage(content=_text(place, "result"), name=a),
    lambda place, a, _: FunctionMessageChunk(content=_text(place, "result"), name=a),
    # Calls and answers in the content, bare and wrapped.
    *map(_calling, CALL_BLOCKS),
    _calling("mcp_approval_request", wrap=True),
    _calling("computer_call", wrap=True),
    *map(_answering, ANSWER_BLOCKS),
    _answering("mcp_approval_response", wrap=True),
    _answering("apply_patch_call_output", wrap=True, text=True),
    _answering("tool_result", text=True),
    lambda place, a, _: ToolMessage(
        [{"type": "text", "text": str(place)}, {"type": "tool_result", "tool_use_id": "z"}],
        tool_call_id=a,
        additional_kwargs={"type": "computer_call_output"},
    ),
    # Items beside the content, calls that are invalid, and pairs that stand in one message.
    lambda place, a, _: _beside(place, tool_outputs=[{"type": "mcp_approval_request", "id": a}]),
    lambda place, a, b: AIMessage(
        _text(place, "call"),
        tool_calls=[_call(b)],
        invalid_tool_calls=[{"name": "look", "args": "{", "id": a, "error": "no JSON"}],
    ),
    lambda place, a, _: AIMessage(
        [
            {"type": "server_tool_use", "id": a, "n": place},
            {"type": "web_search_tool_result", "tool_use_id": a, "n": place},
        ]
    ),
    # Content that is odd.
    lambda place, a, _: AIMessage([_text(place, "string"), {"type": "tool_use", "id": a}]),
    lambda place, a, _: HumanMessage([_result(place, a), _text(place, "string")]),
    lambda place, _, __: HumanMessage([_text(place, "string")]),
    lambda place, _, __: HumanMessage([], name=f"empty{place}"),
    lambda place, a, _: HumanMessage(
        [{"type": "non_standard", "value": a}, {"n": place}, {"type": ["tool_result"]}]
    ),
    lambda place, _, __: AIMessage(
        [{"type": "non_standard", "value": None}, {"type": "computer_call", "call_id": place}],
        additional_kwargs={"tool_outputs": "none", "function_call": "none"},
    ),
]


def _heap(entries: list[tuple[int, int]]) -> History:
    return [
        ODD[kind](place, IDS[ids % 3], IDS[ids // 3]) for place, (kind, ids) in enumerate(entries)
    ]


def _disturbed(history: History, changes: list[tuple[int, int, int]]) -> History:
    """Take out, move, repeat and put in messages, here and there."""
    history = list(history)
    for number, (change, place, other) in enumerate(changes):
        if not history:
            break
        here, there = place % len(history), other % len(history)
        if change == 0:
            del history[here]
        elif change == 1:
            history.insert(there, history.pop(here))
        elif change == 2:
            history.insert(there, history[here])
        else:
            odd = ODD[other % len(ODD)](100 + number, IDS[place % 3], IDS[other % 3])
            history.insert(here, odd)
    return history


def broken(*, with_ids: bool = False) -> st.SearchStrategy[History]:
    """Histories that nobody should make: odd messages in a heap, and conversations disturbed."""
    entries = st.tuples(st.integers(0, len(ODD) - 1), st.integers(0, 8))
    common = st.tuples(st.integers(0, COMMON - 1), st.integers(0, 8))
    far = st.integers(0, 2 * LONGEST)
    changes = st.lists(st.tuples(st.integers(0, 3), far, far), min_size=1, max_size=5)
    histories = st.one_of(
        st.lists(common, min_size=6, max_size=LONGEST).map(_heap),
        st.lists(entries, min_size=6, max_size=LONGEST).map(_heap),
        st.lists(entries, max_size=LONGEST).map(_heap),
        st.builds(_disturbed, well_formed(), changes),
    )
    return histories.map(_stamped) if with_ids else histories


def any_history(*, with_ids: bool = False) -> st.SearchStrategy[History]:
    """Well-formed histories and broken ones."""
    return st.one_of(broken(with_ids=with_ids), well_formed(with_ids=with_ids))


# --- Options -------------------------------------------------------------------------------------


def budgets(
    *, tokens: Callable[..., int] | None = None, trim_to: bool = False, overflow: bool = False
) -> st.SearchStrategy[dict[str, Any]]:
    """Options of small budgets, at least one of them set, by the names of the package.

    Args:
        tokens: A counter of tokens; without one no budget of tokens is set.
        trim_to: Whether `trim_to` may be set.
        overflow: Whether `overflow` is set.
    """
    mapping: dict[str, st.SearchStrategy[Any]] = {
        "max_messages": st.integers(1, 12),
        "max_turns": st.integers(1, 4),
    }
    if tokens:
        mapping["max_tokens"] = st.integers(1, 150)
    optional = {"trim_to": st.sampled_from([0.6, 0.4, 0.8, 0.1])} if trim_to else {}
    required = {"overflow": st.sampled_from(["trim", "keep", "error"])} if overflow else {}

    def with_counter(options: dict[str, Any]) -> dict[str, Any]:
        return options | {"token_counter": tokens} if "max_tokens" in options else options

    return (
        st.fixed_dictionaries(required, optional=mapping | optional)
        .filter(lambda options: not mapping.keys().isdisjoint(options))
        .map(with_counter)
    )


# --- Drawn once ----------------------------------------------------------------------------------


def drawing(number: int) -> settings:
    """Draw so many examples, the same on every run."""
    return settings(
        max_examples=number,
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


def drawn(strategy: st.SearchStrategy[Any], number: int) -> list[Any]:
    """Draw so many examples and list them."""
    examples: list[Any] = []

    @drawing(number)
    @given(strategy)
    def note(each: Any) -> None:
        examples.append(each)

    note()
    return examples
