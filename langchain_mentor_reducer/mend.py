"""Mending: a history that arrived broken, back in the form that every provider accepts.

Every call is answered exactly once, directly behind the message that makes it, in the order of its
calls; nothing else answers anything.

| what is found | what comes out |
|---|---|
| all is sound, in whatever order a step's results stand | the very same messages |
| a result that is late, or before its call and nothing else answers that | moved behind its call |
| several results for one call | the newest stays |
| a result whose call is nowhere before it | removed |
| a call without a result | answered with `NO_RESULT`, an error |
| the same, and only a person, a screen or a client can answer it | the call is taken out |
| a call made again before it was answered | the earlier one is taken out |
| a call made again word for word, answered only before | the later one is taken out |
| an id called again after it was answered | nothing: pairing is by position |
| a call without an id, or twice in a message | taken out, or left once |
| an invalid call without a result | a call without arguments; the parser's error is the result |
| an open call in the last step, nothing behind it | left alone, unless `answer_last` |
| an `AIMessage` that neither says nor calls anything | removed |
| a beginning without a question that holds a result without a call | removed, up to the question |
| an answer beside text, late or behind the text | a user message of its own; the text stays |

A message that loses something and stays is a copy with the same id.
"""

from collections.abc import Sequence
from itertools import chain, groupby, islice
from typing import Any, Final, NamedTuple, TypeVar, overload

from langchain_core.messages import (
    BaseMessage,
    MessageLikeRepresentation,
    ToolMessage,
    convert_to_messages,
)

from langchain_mentor_reducer.calls import (
    Call,
    answers_of,
    calls_of,
    error_result,
    makes_again,
    only_answers,
    says,
    unanswerable,
    with_calls,
)
from langchain_mentor_reducer.turns import ROLES, NotAMessageError, is_answer, is_question, role_of

M = TypeVar("M", bound=BaseMessage)

NO_RESULT: Final = "Error: this call was interrupted, and no result was recorded."
"""What answers a call that has no result."""

Part = tuple[int, int]
"""The index of a message, and which of its content blocks: what a history is cut into."""


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
def mend_messages(  # pyright: ignore[reportOverlappingOverload] - messages are message-likes too
    messages: Sequence[M], *, answer_last: bool = False
) -> list[M]: ...
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
    if _is_sound_at_a_glance(messages, answer_last=answer_last):
        return None
    mending = _Mending(messages)
    mending.put_in_order(answer_last=answer_last)
    return mending.put_together() if mending.repairs else None


def _is_sound_at_a_glance(messages: Sequence[BaseMessage], *, answer_last: bool) -> bool:
    """Tell whether a history is sound where that is quick to tell, as it most often is."""
    waiting: set[Call] = set()
    message: Any  # its role tells what it has
    for message in messages:
        role = ROLES[type(message)]
        if role == "user" and not waiting:
            content = message.content
            if type(content) is not str and (answers_of(message) or only_answers(message)):
                return False
        elif role == "ai" and not waiting:
            odd = type(message.content) is not str or message.invalid_tool_calls
            if odd or message.tool_calls or message.additional_kwargs or not message.content:
                calls = _sound_calls(message)
                if calls is None:
                    return False
                waiting = calls
        elif role == "result":
            if type(message) is not ToolMessage or message.tool_call_id not in waiting:
                return False
            waiting.remove(message.tool_call_id)
        elif waiting or role != "system":
            return False
    return not (waiting and answer_last)


def _sound_calls(message: Any) -> set[Call] | None:
    """Return the calls of a message if each is valid and has an id of its own, else None."""
    calls: set[Call] = {call["id"] for call in message.tool_calls if call["id"]}
    if len(calls) < len(message.tool_calls) or message.invalid_tool_calls:
        return None
    if type(message.content) is not str or message.additional_kwargs:
        calls.update(calls_of(message))
    return calls if calls or says(message) else None


class _Mending:
    """A history cut into parts, and the parts in the order in which they come out."""

    def __init__(self, messages: Sequence[BaseMessage]) -> None:
        """Cut the messages into parts, and pair calls and answers by position."""
        self.messages: list[Any] = list(messages)
        self.count = len(messages)
        self.parts: list[list[Part]] = []
        self.answers: dict[Part, Call] = {}
        self.steps: dict[int, dict[Call, Part | None]] = {}
        """The calls of each message of the model, with the answer that each of them keeps."""
        self.again: set[tuple[int, Call]] = set()
        """Calls that were made before, word for word, and answered."""
        self.out: list[Part] = []
        self.repairs: list[Repair] = []
        made: dict[Call, int] = {}
        early: dict[Call, Part] = {}
        for i, message in enumerate(messages):
            role = role_of(message)
            blocks = len(message.content) if role == "user" and type(message.content) is list else 1
            self.parts.append([(i, part) for part in range(max(1, blocks))])
            for part, call in answers_of(message).items() if role in {"result", "user"} else ():
                self.answers[i, part] = call
                if call in made:
                    self.steps[made[call]][call] = (i, part)
                else:
                    early[call] = (i, part)
            if role == "ai":
                self.steps[i] = {
                    call: early.pop(call, None) for call in dict.fromkeys(calls_of(message))
                }
                for call in self.steps[i].keys() & made.keys():
                    self.make_again(made[call], i, call)
                made.update(dict.fromkeys(self.steps[i], i))

    def make_again(self, before: int, i: int, call: Call) -> None:
        """Note that a message makes a call that was made before."""
        if self.steps[before][call] is None:
            del self.steps[before][call]
        elif makes_again(self.messages[before], self.messages[i], call):
            self.again.add((i, call))

    def put_in_order(self, *, answer_last: bool) -> None:
        """Put each answer behind its call, and leave out what is not to stay."""
        begins = self.beginning()
        kept = {a for i, calls in self.steps.items() if i >= begins for a in calls.values()}
        last = -1 if answer_last else self.last()
        for i, message in enumerate(self.messages[: self.count]):
            if i < begins and role_of(message) != "system":
                self.note(i, "the rest of a turn that was cut")
            elif i in self.steps:
                self.put_step(i, is_open=i == last)
            else:
                answers = self.answers.keys() & self.parts[i]
                only = is_answer(message)
                if not answers <= kept or (only and not answers):
                    self.note(i, "it answers no call, or a newer result does")
                if not only:
                    self.out += [part for part in self.parts[i] if part not in answers]

    def beginning(self) -> int:
        """Find where the rest of a turn that was cut ends, 0 if nothing begins with one."""
        first = next((i for i, m in enumerate(self.messages) if is_question(m)), 0)
        used = {answer for calls in self.steps.values() for answer in calls.values()}
        made = {call for i, calls in self.steps.items() if i < first for call in calls}
        lone = (a for a, call in self.answers.items() if a not in used and call not in made)
        return first if any(i < first for i, _ in lone) else 0

    def last(self) -> int:
        """Find the last message, without answers and what comes to nothing."""
        for i in range(len(self.messages) - 1, -1, -1):
            step = self.steps.get(i)
            if step or (
                not is_answer(self.messages[i]) if step is None else says(self.messages[i])
            ):
                return i
        return -1

    def put_step(self, i: int, *, is_open: bool) -> None:
        """Put a message of the model and the answers to its calls, or leave both out."""
        message, calls = self.messages[i], self.steps[i]
        lacking = set() if is_open else {call for call, answer in calls.items() if not answer}
        gone = {c for c in lacking if (i, c) in self.again} | lacking & unanswerable(message)
        lacking -= gone
        stay = [call for call in calls if call not in gone]
        errors = {c["id"]: c["error"] for c in message.invalid_tool_calls if c["id"] in lacking}
        said = with_calls(message, stay, valid=errors)
        if not (stay or says(message)):
            self.note(i, "nothing is left that it says or calls")
            return
        if said is not message:
            self.note(i, "a call was taken out or made valid")
        self.messages[i] = said
        self.out.append((i, 0))
        found = sorted(answer for answer in calls.values() if answer)
        behind = chain.from_iterable(self.parts[i + 1 : i + 1 + len(found)])
        stand = found == list(islice(behind, len(found)))
        for j in () if stand else dict.fromkeys(j for j, _ in found):
            self.note(j, "it stood apart from its call")
        names: dict[Any, str] = {call["id"]: call["name"] for call in said.tool_calls}
        for call in [call for call in stay if call in lacking]:
            calls[call] = (len(self.messages), 0)
            self.parts.append([(len(self.messages), 0)])
            text = errors.get(call) or NO_RESULT
            self.messages.append(error_result(call, names.get(call), text))
            self.note(i, "a call that has no result")
        self.out += found if stand and not lacking else filter(None, map(calls.get, stay))

    def note(self, i: int, reason: str) -> None:
        """Note what is mended."""
        self.repairs.append(Repair(i, reason))

    def put_together(self) -> Mended:
        """Make messages of the parts again; where nothing changed it is the message itself."""
        mended = Mended([], [], self.repairs)
        for i, group in groupby(self.out, lambda part: part[0]):
            message, parts = self.messages[i], list(group)
            if parts != self.parts[i]:
                update: dict[str, Any] = {"content": [message.content[part] for _, part in parts]}
                if parts[-1] in self.answers and len(parts) < len(self.parts[i]):
                    update["id"] = None  # what else it held has the id, or went
                message = message.model_copy(update=update)
            mended.messages.append(message)
            mended.sources.append(i if i < self.count else None)
        return mended
