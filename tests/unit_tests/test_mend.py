"""Mending: each row of the normal form, and what holds for any list of messages."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)

from langchain_mentor_reducer import mend_messages
from langchain_mentor_reducer.mend import NO_RESULT, mend
from tests.unit_tests.histories import any_history, well_formed
from tests.unit_tests.reference import Key, answers_of, calls_of, is_answer, is_system, is_user

CASES = Path(__file__).parents[3] / "shared" / "data" / "cases.jsonl"
ABOUT_ORDER = {"orphan-result", "parallel-split", "dangling-call", "role-order", "dedup-ids"}

# --- The rows ------------------------------------------------------------------------------------

ROWS = [
    ("sound, results swapped", "U A>1,2 T<2 T<1 A", "U A>1,2 T<2 T<1 A"),
    ("late", "U A>1 U T<1", "U A>1 T<1 U"),
    ("late, of two", "U A>1,2 T<2 U T<1", "U A>1,2 T<1 T<2 U"),
    ("before its call", "U T<1 A>1 A", "U A>1 T<1 A"),
    ("before its call, twice", "U Tx<1 Ty<1 A>1 A", "U A>1 Ty<1 A"),
    ("before its call, answered", "U Tx<1 A>1 Ty<1 A", "U A>1 Ty<1 A"),
    ("several", "U A>1 Tx<1 Ty<1 A", "U A>1 Ty<1 A"),
    ("no call", "U A T<1 U", "U A U"),
    ("no result", "U A>1 U", "U A>1 T!<1 U"),
    ("no result, of two", "U A>1,2 T<2 U", "U A>1,2 T!<1 T<2 U"),
    ("no result, answers apart", "U A>1 A>2 T<2 T<1", "U A>1 T<1 A>2 T<2"),
    ("made again unanswered", "U A>1 U A>1 T<1", "U U A>1 T<1"),
    ("made again unanswered, words", "U Ax>1 U A>1 T<1", "U Ax U A>1 T<1"),
    ("made again unanswered, of two", "U A>1,2 U A>1 T<1 T<2", "U A>2 T<2 U A>1 T<1"),
    ("sent twice, answered once", "U A>1 T<1 U A>1 U", "U A>1 T<1 U U"),
    ("made again answered", "U A>1 T<1 U A>1 T<1", "U A>1 T<1 U A>1 T<1"),
    ("another call of the same id", "U A>1 T<1 U A>1! U", "U A>1 T<1 U A>1! T!<1 U"),
    ("an empty answer", "U A>1 A- T<1 A", "U A>1 T<1 A"),
    ("a call before the last word", "U A>1 A", "U A>1 T!<1 A"),
    ("several results at the end", "U A>1 T3<1 T5<1", "U A>1 T5<1"),
    ("a system message between", "U A>1 S T<1 A", "U A>1 T<1 S A"),
    ("a system message at the end", "U A>1 S", "U A>1 T!<1 S"),
    ("an empty answer last", "U A>1 A-", "U A>1"),
    ("open in the last step", "U A>1,2 T<1", "U A>1,2 T<1"),
    ("open in the last step, swapped", "U A>1,2 U T<1", "U A>1,2 T<1 T!<2 U"),
    ("sent twice, open last", "U A>1 T<1 A>1", "U A>1 T<1 A>1"),
    ("a cut beginning", "S T<1 A U A", "S U A"),
    ("a cut beginning, more of it", "S A T<1 A>2 S T<2 U A", "S S U A"),
    ("a cut beginning, its call late", "T<1 A>2 U T<2 A", "U A"),
    ("a cut beginning, its id again", "T<1 A U A>1 T<1 A", "U A>1 T<1 A"),
    ("a double in the beginning", "A>1 Tx<1 Ty<1 A U", "A>1 Ty<1 A U"),
    ("a greeting", "A U A", "A U A"),
    ("a greeting that calls", "A>1 T<1 U A", "A>1 T<1 U A"),
    ("no question", "T<1 A", "A"),
    ("nothing stays", "T<1 A-", ""),
    ("twice in a message", "U A>1,1 T<1 A", "U A>1 T<1 A"),
    ("no id", "U A> T< A", "U A"),
    ("no id, words", "U Ax> A", "U Ax A"),
]
STEP = re.compile(r"([SUAT])([\w!-]*)(?:>([\w,]*)(!?))?(?:<(\w*))?")


def read(shape: str) -> list[BaseMessage]:
    """Make messages of a shape: who speaks, a word, the calls and what is answered."""
    return [_message(*STEP.fullmatch(step).groups()) for step in shape.split()]  # type: ignore[union-attr]


def _message(role: str, word: str, calls: str | None, other: str, answers: str | None) -> Any:
    if role == "T":
        fields: dict[str, Any] = {"tool_call_id": f"call_{answers}" if answers else ""}
        if word == "!":
            fields |= {"name": "look", "status": "error", "additional_kwargs": {"mended": True}}
        return ToolMessage(NO_RESULT if word == "!" else word or "found", **fields)
    if role == "A":
        ids = [f"call_{n}" if n else "" for n in calls.split(",")] if calls is not None else []
        made = [{"name": "look", "args": {"other": other}, "id": id_} for id_ in ids]
        said = "" if word == "-" else word or ("" if made else "says")
        return AIMessage(said, tool_calls=made)
    return (SystemMessage if role == "S" else HumanMessage)(word or "asks")


@pytest.mark.parametrize(("before", "after"), [row[1:] for row in ROWS], ids=[r[0] for r in ROWS])
def test_row(before: str, after: str) -> None:
    """What comes out is the normal form, and it comes out of itself as it is."""
    mended = mend_messages(read(before))
    assert mended == read(after)
    assert (mend(read(before)) is None) == (before == after)
    assert mend(mended) is None


def test_open_call_is_answered_where_a_model_is_called() -> None:
    """With `answer_last` the error answers an open call of the last step."""
    assert mend_messages(read("U A>1"), answer_last=True) == read("U A>1 T!<1")
    assert mend_messages(read("U A>1,2 T<2"), answer_last=True) == read("U A>1,2 T!<1 T<2")
    assert mend_messages(read("U A>1 T<1 A>1"), answer_last=True) == read("U A>1 T<1")


ACCOUNTS = [
    ("U A>1 U", [0, 1, None, 2], (1, "a call that has no result")),
    ("U A>1 U T<1", [0, 1, 3, 2], (3, "it stood apart from its call")),
    ("U A T<1", [0, 1], (2, "it answers no call, or a newer result does")),
    ("T<1 S U", [1, 2], (0, "the rest of a turn that was cut")),
    ("U A-", [0], (1, "nothing is left that it says or calls")),
    ("U Ax>", [0, 1], (1, "a call was taken out or made valid")),
]


@pytest.mark.parametrize(("shape", "sources", "repair"), ACCOUNTS)
def test_account(shape: str, sources: list[int | None], repair: tuple[int, str]) -> None:
    """What was mended is named, with the message that it was about."""
    mended = mend(read(shape))
    assert mended is not None
    assert (mended.sources, mended.repairs) == (sources, [repair])


# --- Blocks --------------------------------------------------------------------------------------

TEXT = {"type": "text", "text": "And the bridge?"}
MORE = {"type": "text", "text": "Well?"}


def _calling(*ids: str, **fields: Any) -> AIMessage:
    made = [{"name": "look", "args": {}, "id": id_} for id_ in ids]
    return AIMessage("", tool_calls=made, **fields)


def _result(id_: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id_, "content": "found"}


def _user(*blocks: Any, id_: str | None = "u") -> HumanMessage:
    return HumanMessage(list(blocks), id=id_)


ASK, SAY = HumanMessage("asks"), AIMessage("says")
BLOCKS = {
    "answers and text in place": (
        [ASK, _calling("1", "2"), _user(_result("2"), _result("1"), TEXT)],
        None,
    ),
    "text in front of the answer": (
        [ASK, _calling("1"), _user(TEXT, _result("1"))],
        [ASK, _calling("1"), _user(_result("1"), TEXT)],
    ),
    "late, beside text": (
        [ASK, _calling("1"), HumanMessage("wait"), _user(_result("1"), TEXT)],
        [ASK, _calling("1"), _user(_result("1"), id_=None), HumanMessage("wait"), _user(TEXT)],
    ),
    "one of two, beside text": (
        [ASK, _calling("1", "2"), _user(_result("1"), TEXT), ToolMessage("x", tool_call_id="2")],
        [
            ASK,
            _calling("1", "2"),
            _user(_result("1"), id_=None),
            ToolMessage("x", tool_call_id="2"),
            _user(TEXT),
        ],
    ),
    "of two steps, beside text": (
        [ASK, _calling("1"), _calling("2"), _user(_result("1"), _result("2"), TEXT)],
        [
            ASK,
            _calling("1"),
            _user(_result("1"), id_=None),
            _calling("2"),
            _user(_result("2"), TEXT),
        ],
    ),
    "two with text between": (
        [ASK, _calling("1", "2"), _user(_result("1"), TEXT, _result("2"), MORE)],
        [ASK, _calling("1", "2"), _user(_result("1"), _result("2"), TEXT, MORE)],
    ),
    "no call, beside text": ([ASK, SAY, _user(_result("1"), TEXT)], [ASK, SAY, _user(TEXT)]),
    "no call": ([ASK, SAY, _user(_result("1"))], [ASK, SAY]),
    "twice in a message": (
        [ASK, _calling("1"), _user(_result("1"), _result("1")), SAY],
        [ASK, _calling("1"), _user(_result("1"), id_=None), SAY],
    ),
    "by a chat message": (
        [ASK, _calling("1"), SAY, ChatMessage(content=[_result("1")], role="user")],
        [ASK, _calling("1"), ChatMessage(content=[_result("1")], role="user"), SAY],
    ),
    "an empty user message": ([ASK, _user(), *read("T<1")], [ASK, _user()]),
    "a question of blocks": ([_user(TEXT), SAY], None),
    "an answer of blocks": ([ASK, AIMessage([TEXT])], None),
    "nothing but thoughts": ([ASK, AIMessage([{"type": "thinking", "thinking": "Hm"}])], [ASK]),
    "an empty text": ([ASK, AIMessage([{"type": "text", "text": ""}])], [ASK]),
    "a voice": ([ASK, AIMessage("", additional_kwargs={"audio": {"id": "a"}})], None),
    "something that says nothing": ([ASK, AIMessage("", additional_kwargs={"x": 1})], [ASK]),
}


def _taken_out(kind: str, key: str, **fields: Any) -> tuple[Any, Any]:
    """An unanswered call of a kind that nothing made up can answer, its reasoning in front."""
    block, thought = {"type": kind, key: "1"}, {"type": "reasoning", "id": "r"}
    message = AIMessage([TEXT, thought, block], id="a", **fields)
    return [ASK, message, ASK], [ASK, AIMessage([TEXT], id="a"), ASK]


BLOCKS |= {
    kind: _taken_out(kind, key)
    for kind, key in {
        "apply_patch_call": "call_id",
        "computer_call": "call_id",
        "mcp_approval_request": "id",
        "tool_search_call": "call_id",
    }.items()
}
BLOCKS["custom_tool_call"] = _taken_out(
    "custom_tool_call", "call_id", tool_calls=[{"name": "x", "args": {}, "id": "1"}]
)
_REQUEST = {"type": "mcp_approval_request", "id": "1"}
BLOCKS["beside the content"] = (
    [ASK, AIMessage("", additional_kwargs={"tool_outputs": [_REQUEST, MORE]}), ASK],
    [ASK, AIMessage("", additional_kwargs={"tool_outputs": [MORE]}), ASK],
)


def _legacy(name: str) -> AIMessage:
    call = {"function_call": {"name": name, "arguments": "{}"}}
    return AIMessage("", additional_kwargs=call)


BLOCKS["a legacy call"] = (
    [ASK, _legacy("look"), ASK],
    [ASK, _legacy("look"), FunctionMessage(content=NO_RESULT, name="look"), ASK],
)
BLOCKS["a legacy call made again"] = (
    [ASK, _legacy("look"), ASK, _legacy("look"), FunctionMessage(content="found", name="look")],
    [ASK, ASK, _legacy("look"), FunctionMessage(content="found", name="look")],
)
BLOCKS["a function without a name"] = ([ASK, FunctionMessage(content="x", name="")], [ASK])


def _invalid(name: str | None, error: str | None, *ids: str) -> AIMessage:
    call: Any = {"name": name, "args": "{", "id": "x", "error": error}
    return _calling(*ids, invalid_tool_calls=[call], additional_kwargs={"tool_calls": [{}]})


def _error(text: str, name: str) -> ToolMessage:
    fields: dict[str, Any] = {"status": "error", "additional_kwargs": {"mended": True}}
    return ToolMessage(text, tool_call_id="x", name=name, **fields)


_VALID = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "x"}])
_UNKNOWN = AIMessage("", tool_calls=[{"name": "unknown", "args": {}, "id": "x"}])
BLOCKS |= {
    "an invalid call": (
        [ASK, _invalid("look", "no JSON"), ASK],
        [ASK, _VALID, _error("no JSON", "look"), ASK],
    ),
    "an invalid call without a name": (
        [ASK, _invalid(None, None), ASK],
        [ASK, _UNKNOWN, _error(NO_RESULT, "unknown"), ASK],
    ),
    "an invalid call, answered": ([ASK, _invalid("look", "x"), _error("no", "look"), ASK], None),
    "an invalid call, valid too": (
        [ASK, _invalid("look", "no JSON", "x"), ASK],
        [ASK, _VALID, _error("no JSON", "look"), ASK],
    ),
    "a legacy call with words": (
        [ASK, _legacy("look").model_copy(update={"content": "Let me see."}), ASK],
        [
            ASK,
            _legacy("look").model_copy(update={"content": "Let me see."}),
            FunctionMessage(content=NO_RESULT, name="look"),
            ASK,
        ],
    ),
    "an invalid call with words": (
        [
            ASK,
            AIMessage("Well.", invalid_tool_calls=_invalid("look", "no").invalid_tool_calls),
            ASK,
        ],
        [ASK, _VALID.model_copy(update={"content": "Well."}), _error("no", "look"), ASK],
    ),
    "another message": ([ASK, ChatMessage(content="x", role="x"), *read("A>1 T<1")], None),
}


@pytest.mark.parametrize(("before", "after"), BLOCKS.values(), ids=BLOCKS)
def test_blocks(before: list[BaseMessage], after: list[BaseMessage] | None) -> None:
    """Calls and answers in content come to the normal form, too; None is sound."""
    mended = mend(before)
    if after is None:
        assert mended is None
        return
    assert mended is not None
    assert mended.messages == after
    assert mend(mended.messages) is None


def test_removal_is_refused() -> None:
    """A `RemoveMessage` is no part of a history."""
    with pytest.raises(ValueError, match="add_messages"):
        mend_messages([RemoveMessage("m")])


def test_answer_without_an_id() -> None:
    """A message of answers alone goes if none of them says what it answers."""
    history = [HumanMessage("Well?"), HumanMessage([{"type": "tool_result"}])]
    assert mend_messages(history) == history[:1]


def test_message_likes() -> None:
    """Tuples are converted."""
    assert mend_messages([("user", "Hi")]) == [HumanMessage("Hi")]


# --- Any list ------------------------------------------------------------------------------------


def faults(messages: Sequence[BaseMessage]) -> Iterator[str]:
    """Judge the normal form, read from its page: who stands where it may not."""
    waiting: set[Key] = set()
    for place, message in enumerate(messages):
        keys = answers_of(message)
        answers = is_answer(message) or any(keys)
        for key in keys if answers else []:
            if key in waiting:
                waiting.remove(key)
            elif key or waiting or is_answer(message):
                yield f"{place} answers what does not wait, or there is something in front: {key}"
        if not answers:
            if waiting:
                yield f"{place}: {sorted(waiting)} are not answered"
            waiting = calls_of(message)
        if isinstance(message, AIMessage):
            yield from _odd(message, place)
    if waiting:
        yield f"{sorted(waiting)} are not answered"


def _odd(message: AIMessage, place: int) -> Iterator[str]:
    ids = [call["id"] for call in message.tool_calls]
    if len(set(ids)) < len(ids) or not all(ids):
        yield f"{place} calls twice, or without an id"
    if not (message.content or message.additional_kwargs or calls_of(message)):
        yield f"{place} says nothing"


def _asked(history: Sequence[BaseMessage]) -> Counter[str]:
    """Count what users and systems say, block by block."""
    said: Counter[str] = Counter()
    for message in history:
        if is_user(message) and isinstance(message.content, list):
            blocks = zip(message.content, answers_of(message), strict=True)
            if not is_answer(message):
                said.update(str(block) for block, key in blocks if key is None)
        elif is_user(message) or is_system(message):
            said[str(message.content)] += 1
    return said


def _texts(history: Sequence[BaseMessage]) -> Counter[str]:
    return Counter(m.text for m in history if isinstance(m, AIMessage) and m.text)


def _results(history: Sequence[BaseMessage]) -> set[str]:
    """What answers a call made before it, the newest for each."""
    newest: dict[Key, str] = {}
    kept: set[str] = set()
    for message in history:
        for part, key in enumerate(answers_of(message)):
            if key in newest:
                newest[key] = str(message.content[part] if is_user(message) else message.content)
        for key in calls_of(message):
            kept.add(newest.get(key, ""))
            newest[key] = ""
    return (kept | set(newest.values())) - {""}


@given(well_formed())
def test_sound(history: list[BaseMessage]) -> None:
    """What is sound comes back as the very same objects."""
    assert mend(history) is None
    assert all(a is b for a, b in zip(history, mend_messages(history), strict=True))


@given(any_history())
def test_any(history: list[BaseMessage]) -> None:
    """All is in order, nothing asked, said or answered is lost, and twice is once."""
    before = [message.model_dump() for message in history]
    mended = mend(history, answer_last=True)
    messages = history if mended is None else mended.messages
    assert not list(faults(messages))
    assert mend(messages, answer_last=True) is None
    assert _asked(messages) == _asked(history)
    cut = any("was cut" in reason for _, reason in (mended.repairs if mended else ()))
    if not cut:
        assert _texts(messages) == _texts(history)
        assert _results(history) <= _results(messages)
    assert [message.model_dump() for message in history] == before


@given(any_history())
def test_waiting_for_a_person(history: list[BaseMessage]) -> None:
    """Without `answer_last` the last step alone may be open, and stays so."""
    messages = mend_messages(history)
    assert mend(messages) is None
    assert len(list(faults(messages))) <= 1


def test_reported_cases() -> None:
    """The histories of public bug reports about broken threads are in order afterwards."""
    if not CASES.exists():
        pytest.skip("cases.jsonl does not stand beside the project")
    cases = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    broken = 0
    for case in cases:
        if case["kind"] in ABOUT_ORDER:
            history = convert_to_messages(case["minimal_input"])
            broken += any(faults(history))
            assert not list(faults(mend_messages(history, answer_last=True))), case["id"]
    assert broken
