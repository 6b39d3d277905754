"""Mending: a history that arrived broken, back in the form that every provider accepts.

The normal form: every call is answered exactly once, directly behind the message that makes it;
nothing else answers anything.

- All is sound, in whatever order a step's results stand: the very same messages.
- A result stands late, or before its call and nothing else answers that: moved behind its call,
  and the step's answers put in the order of its calls.
- Several results for one call: the newest stays.
- A result whose call is nowhere before it: removed.
- A call without a result: answered with `NO_RESULT`, an error. A call that only a person, a
  screen or a client's tool can answer (approvals, computer use, patches, tool search) is taken out.
- The same call made again before it was answered, or twice in one message: one is left.
- The same id called again after it was answered: nothing; pairing is by position. Word for word
  the same call, and without a result: it was sent twice, and is taken out.
- A call without an id: taken out, for nothing can answer it.
- An `AIMessage` with neither content nor calls, or that lost all it had: removed.
- An invalid call without a result: becomes a call without arguments, and its error the result.
- An open call in the last step, nothing behind it: left alone, unless `answer_last`.
- A beginning without a question that holds a result without a call: removed up to the first
  question, its system messages aside.
- An answer block beside text, late or behind the text: moved in a user message of its own; the
  text stays where it was, in a copy with the same id.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeVar, cast, overload

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    FunctionMessage,
    MessageLikeRepresentation,
    ToolMessage,
    convert_to_messages,
)

from langchain_mentor_reducer.calls import CALLS, Call, _unwrap, answers_of, calls_of, without
from langchain_mentor_reducer.turns import ROLES, NotAMessageError, is_answer, is_question, role_of

M = TypeVar("M", bound=BaseMessage)

NO_RESULT: Final = "Error: this call was interrupted, and no result was recorded."
"""What answers a call that has no result."""

UNANSWERABLE: Final = frozenset(
    {"apply_patch_call", "computer_call", "mcp_approval_request", "tool_search_call"}
)
"""Blocks that call for what cannot be made up."""

_THOUGHTS: Final = {"reasoning", "thinking", "redacted_thinking"}
"""Blocks that say nothing without what they led to."""


class Repair(NamedTuple):
    """One thing that was mended."""

    source: int
    """The index of the message that it was about."""
    reason: str


class Mended(NamedTuple):
    """A broken history, mended."""

    messages: list[BaseMessage]
    sources: list[int | None]
    """For each message its index in the history; None for one that was added."""
    repairs: list[Repair]


@overload
def mend_messages(messages: Sequence[M], *, answer_last: bool = False) -> list[M]: ...
@overload
def mend_messages(
    messages: Sequence[MessageLikeRepresentation], *, answer_last: bool = False
) -> list[BaseMessage]: ...
def mend_messages(messages: Sequence[Any], *, answer_last: bool = False) -> list[Any]:
    """Bring a history that broke into the form that providers accept.

    ```python
    from langchain_core.messages import AIMessage, HumanMessage
    from langchain_mentor_reducer.mend import NO_RESULT, mend_messages

    call = {"name": "look_up", "args": {}, "id": "call_1"}
    killed = [HumanMessage("How tall?"), AIMessage("", tool_calls=[call]), HumanMessage("Well?")]
    assert mend_messages(killed)[2].content == NO_RESULT
    ```

    What is sound comes back as the very same messages, in a new list. No question, system
    message or result that has a call is lost.

    Args:
        messages: The history; message-likes are converted.
        answer_last: Whether open calls of the last step are answered too, for a model that is
            about to be called. Otherwise they may be waiting for a person.

    Raises:
        ValueError: There is a `RemoveMessage` in the history.
    """
    history = list(messages)
    try:
        mended = mend(history, answer_last=answer_last)
    except NotAMessageError:
        history = convert_to_messages(history)
        mended = mend(history, answer_last=answer_last)
    return history if mended is None else mended.messages


def mend(messages: Sequence[BaseMessage], *, answer_last: bool = False) -> Mended | None:
    """Mend a history or a window of one, and say what was mended; None if it is sound."""
    if is_sound(messages, answer_last=answer_last):
        return None
    return _Mending(messages).mended(answer_last=answer_last)


def is_sound(  # noqa: C901, PLR0911, PLR0912 - one look at each kind of message, and no call more
    messages: Sequence[BaseMessage], *, answer_last: bool = False
) -> bool:
    """Tell whether nothing is to be mended."""
    waiting: set[Call] = set()
    message: Any  # its role tells what it has
    for message in messages:
        role = ROLES[type(message)]
        if role == "user" and type(message.content) is str and not waiting:
            continue
        if role == "ai":
            if waiting:
                return False
            if (
                message.tool_calls
                or message.invalid_tool_calls
                or message.additional_kwargs
                or (type(message.content) is not str)
            ):
                calls = calls_of(message)
                if not (_is_plain(message) and (calls or _says(message))):
                    return False
                waiting.update(calls)
            elif not message.content:
                return False
        elif role == "result" or (role in {"user", "chat"} and type(message.content) is not str):
            parts = answers_of(message) if role == "result" or role_of(message) == "user" else {}
            if (role == "result" or is_answer(message)) and not parts:
                return False
            for place, (part, call) in enumerate(parts.items()):
                if call not in waiting or part != place:
                    return False
                waiting.remove(call)
            if waiting and not is_answer(message):
                return False
        elif waiting or role in {"deletion", "none"}:
            role_of(message)  # refuses what is no message
            return False
    return not (waiting and answer_last)


Part = tuple[int, int]
"""An answer: the index of its message, and which of its parts."""


class _Mending:
    """What one pass over a broken history finds out."""

    def __init__(self, messages: Sequence[BaseMessage]) -> None:  # noqa: C901 - one pass
        self.messages = messages
        self.calls: dict[int, dict[Call, Part | None]] = {}
        """Each step's calls that stay, with the newest answer."""
        self.gone: dict[int, set[Call]] = {}
        self.parts = [
            answers_of(message) if role_of(message) in {"result", "user"} else {}
            for message in messages
        ]
        self.answers = [is_answer(message) for message in messages]
        self.orphans: set[Part] = set()
        self.repeated: set[tuple[int, Call]] = set()
        """Calls that were made before, word for word, and answered."""
        made: dict[Call, int] = {}
        early: dict[Call, Part] = {}
        before: dict[tuple[int, Call], Part] = {}
        for i, message in enumerate(messages):
            for part, call in self.parts[i].items():
                if call in made:
                    self.calls[made[call]][call] = (i, part)
                    early.pop(call, None)
                else:
                    early[call] = (i, part)
                    self.orphans.add((i, part))
            if role_of(message) == "ai":
                self.calls[i] = dict.fromkeys(calls_of(message))
                for call in self.calls[i]:
                    if call in made and self.calls[made[call]][call] is None:
                        del self.calls[made[call]][call]
                        self.gone.setdefault(made[call], set()).add(call)
                    elif call in made and _same(messages[made[call]], message, call):
                        self.repeated.add((i, call))
                    made[call] = i
                    if call in early:
                        before[i, call] = early[call]
        for (i, call), answer in before.items():
            if self.calls[i].get(call, answer) is None:
                self.calls[i][call] = answer
                self.orphans.discard(answer)

    def mended(self, *, answer_last: bool) -> Mended:  # noqa: C901 - each kind once
        """Put the history together again."""
        out = Mended([], [], [])
        begins = self.beginning()
        left: dict[int, BaseMessage | None] = {}
        for i, message in enumerate(self.messages):
            if i < begins and role_of(message) != "system":
                out.repairs.append(Repair(i, "the rest of a turn that was cut"))
                left[i] = None
            elif i in self.calls:
                left[i] = _less(message, self.gone.get(i, set()))
        last = max(
            (i for i, a in enumerate(self.answers) if not a and left.get(i, 1) is not None),
            default=-1,
        )
        open_step = -1 if answer_last else last
        used = {
            part
            for i, calls in self.calls.items()
            if left[i] is not None
            for part in calls.values()
            if part is not None
        }
        stays: set[Part] = set()
        named: set[int] = set()
        for i, message in enumerate(self.messages):
            if i in left and left[i] is None:
                if i >= begins:
                    out.repairs.append(Repair(i, "it says nothing and calls nothing"))
            elif i in self.calls:
                self.step(i, cast("AIMessage", left[i]), out, stays, named, open_=i == open_step)
            elif self.answers[i]:
                lost = {(i, part) for part in self.parts[i]} - used
                if lost or not self.parts[i]:
                    known = lost and not lost & self.orphans
                    reason = "another result of its call is newer" if known else "it has no call"
                    out.repairs.append(Repair(i, reason))
            else:
                taken = {part for part in self.parts[i] if (i, part) not in stays}
                rest = without(message, taken) if taken else message
                if taken:
                    out.repairs.append(Repair(i, "an answer in it stood in the wrong place"))
                _add(out, rest, i)
        return out

    def beginning(self) -> int:
        """Find where the rest of a turn that was cut ends, 0 if nothing begins with one."""
        first = next((i for i, m in enumerate(self.messages) if is_question(m)), 0)
        cut = any(i < first and self.answers[i] for i, _ in self.orphans)
        return first if cut else 0

    def step(  # noqa: C901 - a step is put together in one place
        self,
        i: int,
        said: AIMessage,
        out: Mended,
        stays: set[Part],
        named: set[int],
        *,
        open_: bool,
    ) -> None:
        """Add a message that may call, and the answers behind it."""
        calls = self.calls[i]
        unanswered = [call for call, answer in calls.items() if answer is None]
        if open_:
            unanswered = []
        errors = {call["id"]: call for call in said.invalid_tool_calls}
        made_up = _unanswerable(said)
        cannot = {c for c in unanswered if c in made_up or (i, c) in self.repeated}
        invalid = {call for call in unanswered if call in errors}
        mended = _less(said, cannot, invalid) if cannot or invalid else said
        if mended is None:
            out.repairs.append(Repair(i, "a call that cannot be answered here"))
            return
        if mended is not self.messages[i]:
            out.repairs.append(Repair(i, "a call was taken out or made valid"))
        _add(out, mended, i)
        found = sorted(answer for answer in calls.values() if answer is not None)
        order = list(dict.fromkeys(j for j, _ in found))
        in_place = order == list(range(i + 1, i + 1 + len(order))) and not unanswered
        for j in order:
            mine = [part for k, part in found if k == j]
            whole = mine == list(self.parts[j]) and (self.answers[j] or mine == [*range(len(mine))])
            in_place = in_place and whole and (self.answers[j] or j == order[-1])
        if not in_place:
            order = list(dict.fromkeys(a[0] for a in calls.values() if a is not None))
        pieces: list[tuple[BaseMessage, int | None]] = []
        placed = {j: [part for k, part in found if k == j] for j in order}
        for j in order:
            if in_place and not self.answers[j]:
                stays.update((j, part) for part in placed[j])
                continue
            pieces.append((self.piece(j, placed[j], named), j))
            if not in_place:
                out.repairs.append(Repair(j, "it stood apart from its call"))
        for piece, source in pieces:
            _add(out, piece, source)
        for call in calls:
            if call in unanswered and call not in cannot:
                text = errors[call].get("error") if call in errors else None
                _add(out, no_result(call, _name(mended, call), text or NO_RESULT), None)
                out.repairs.append(Repair(i, "a call that has no result"))

    def piece(self, j: int, parts: list[int], named: set[int]) -> BaseMessage:
        """Return the answers of a message that belong to one step."""
        message = self.messages[j]
        if not isinstance(message.content, list) or ROLES[type(message)] == "result":
            return message
        if self.answers[j] and len(parts) == len(message.content):
            return message
        content = [message.content[part] for part in parts]
        own = self.answers[j] and j not in named
        named.add(j)
        return message.model_copy(update={"content": content} | ({} if own else {"id": None}))


def no_result(call: Call, name: str | None, text: str = NO_RESULT) -> BaseMessage:
    """Make the answer to a call that has no result."""
    if isinstance(call, tuple):
        return FunctionMessage(content=text, name=call[1])
    return ToolMessage(
        text, tool_call_id=call, name=name, status="error", additional_kwargs={"mended": True}
    )


def _add(out: Mended, message: BaseMessage | None, source: int | None) -> None:
    if message is not None:
        out.messages.append(message)
        out.sources.append(source)


def _blocks(message: AIMessage) -> Iterator[dict[str, Any]]:
    content = message.content if isinstance(message.content, list) else []
    outputs = message.additional_kwargs.get("tool_outputs")
    for block in [*content, *(outputs if isinstance(outputs, list) else [])]:
        yield _unwrap(block)


def _id_of(block: object) -> object:
    unwrapped = _unwrap(block)
    kind = unwrapped.get("type")
    return unwrapped.get(CALLS[kind]) if isinstance(kind, str) and kind in CALLS else None


def _unanswerable(message: AIMessage) -> set[object]:
    kinds = [block for block in _blocks(message) if str(block.get("type")) in UNANSWERABLE]
    return {id_ for block in kinds if isinstance(id_ := _id_of(block), str)}


def _name(message: AIMessage, call: Call) -> str | None:
    named = next((each["name"] for each in message.tool_calls if each["id"] == call), None)
    inner = (block.get("name") for block in _blocks(message) if _id_of(block) == call)
    return named or next(inner, None)


def _same(one: BaseMessage, other: BaseMessage, call: Call) -> bool:
    """Tell whether two messages make the same call word for word."""
    made = [
        [
            (each["name"], each["args"])
            for each in cast("AIMessage", m).tool_calls
            if each["id"] == call
        ]
        for m in (one, other)
    ]
    return bool(made[0]) and made[0] == made[1]


def _is_plain(message: AIMessage) -> bool:
    """Tell whether each call among `tool_calls` has an id of its own."""
    ids = [call["id"] for call in (*message.tool_calls, *message.invalid_tool_calls)]
    return all(ids) and len(ids) == len(set(ids))


def _says(message: AIMessage) -> bool:
    """Tell whether a message without calls has anything that would be sent."""
    if type(message.content) is str:
        said = bool(message.content)
    else:
        said = any(
            isinstance(block, str)
            or (block.get("type") not in _THOUGHTS and block.get("text") != "")
            for block in message.content
        )
    return said or any(message.additional_kwargs.get(k) for k in ("audio", "tool_outputs"))


def _less(
    message: BaseMessage, gone: Collection[Call], valid: Collection[Call] = ()
) -> AIMessage | None:
    """Return a message without some of its calls, or None if it has nothing left."""
    said = cast("AIMessage", message)
    if not gone and not valid and _is_plain(said):
        return said if calls_of(said) or _says(said) else None
    tool_calls = {c["id"]: c for c in said.tool_calls if c["id"] and c["id"] not in gone}
    broken = {c["id"]: c for c in said.invalid_tool_calls if c["id"] and c["id"] not in gone}
    for call in broken.keys() & set(valid):
        tool_calls.setdefault(
            call, {"name": broken[call]["name"] or "unknown", "args": {}, "id": call}
        )
    update: dict[str, Any] = {
        "tool_calls": list(tool_calls.values()),
        "invalid_tool_calls": [c for id_, c in broken.items() if id_ not in tool_calls],
    }
    if isinstance(said.content, list):
        update["content"] = _less_blocks(said.content, gone)
    kwargs = dict(said.additional_kwargs)
    kwargs.pop("tool_calls", None)  # a converter falls back to them
    if ("function", (kwargs.get("function_call") or {}).get("name")) in gone:
        kwargs.pop("function_call")
    if isinstance(kwargs.get("tool_outputs"), list):
        kwargs["tool_outputs"] = _less_blocks(kwargs["tool_outputs"], gone)
    left = said.model_copy(update=update | {"additional_kwargs": kwargs})
    return left if calls_of(left) or _says(left) else None


def _less_blocks(blocks: list[Any], gone: Collection[Call]) -> list[Any]:
    """Leave out the blocks of calls, and the reasoning that led to them alone."""
    left: list[Any] = []
    for block in blocks:
        if _id_of(block) not in gone:
            left.append(block)
            continue
        while left and _unwrap(left[-1]).get("type") == "reasoning":
            left.pop()
    return left
