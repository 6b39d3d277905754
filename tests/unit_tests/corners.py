"""The promises and the settled corners of the rule, as inputs and what must come out of them.

A table, so that one test can put every implementation to it. A corner is written as

    name | what it holds | history | options -> what must come out

with all but its name indented where it takes several lines. In a history `S`, `U`, `A` and `T` are
a system message, a question, an answer and a result, with a text where it matters: `U:aa`. `A>ab`
calls a and b, `T<a` is the result of a, and `U<ab+text` a user message of two results and a text.
`A{tool_use:a}` is a message of that block alone, `U@role` a `ChatMessage`, `3*(U A)` is `U A` three
times, and what stands in `ODD` goes by its name. What must come out is a list of positions or an
error; at `4=U<b` the message of position 4 comes out as a copy with this content.
"""

import re
from ast import literal_eval
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
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
from langchain_core.prompt_values import ChatPromptValue


@dataclass(frozen=True)
class Corner:
    """One input, its options and what must come out.

    Attributes:
        name: Names the case in a test report.
        holds: What the case holds, in one sentence.
        messages: The input, a list of messages unless the case is about other inputs.
        options: The options by the names of the package; a counter is one of `LIST_COUNTERS`.
        keep: The positions that must come out, in the order of the output.
        changed: Positions whose content must come out as given here, in a copy.
        raises: The errors of which one must be raised instead.
    """

    name: str
    holds: str
    messages: Any
    options: dict[str, Any]
    keep: list[int] = field(default_factory=list)
    changed: dict[int, Any] = field(default_factory=dict)
    raises: tuple[type[Exception], ...] = ()

    @property
    def core(self) -> bool:
        """Whether the input is a list of messages, as the rule itself takes it."""
        return isinstance(self.messages, list) and all(
            isinstance(message, BaseMessage) for message in self.messages
        )

    def check(self, reduce: Callable[[Any, dict[str, Any]], Sequence[BaseMessage]]) -> None:
        """Put an implementation to the case."""
        if self.raises:
            with pytest.raises(self.raises):
                reduce(self.messages, self.options)
            return
        before = convert_to_messages(self.messages)
        reduced = reduce(before if self.core else self.messages, self.options)
        assert reduced == [
            before[position].model_copy(update={"content": self.changed[position]})
            if position in self.changed
            else before[position]
            for position in self.keep
        ]
        for message, position in zip(reduced, self.keep, strict=True):
            assert not self.core or (message is before[position]) == (position not in self.changed)


def letters_of(message: BaseMessage) -> int:
    """Count a token for each letter of a text, and one for each block of a list."""
    return len(message.content)


def letters(messages: Sequence[BaseMessage]) -> int:
    """Count the same for a list."""
    return sum(map(letters_of, messages))


def letters_and_two(messages: Sequence[BaseMessage]) -> int:
    """Count two tokens more for each list, as a model that primes its answer does."""
    return 2 + letters(messages)


LIST_COUNTERS: dict[Callable[..., int], Callable[[Sequence[BaseMessage]], int]] = {
    letters_of: letters,
    letters: letters,
    letters_and_two: letters_and_two,
}


def system(text: str = "Be brief.") -> SystemMessage:
    """Make a system message."""
    return SystemMessage(text)


class Unread(AIMessage):
    """A message that must not be looked into."""

    def __getattribute__(self, name: str) -> Any:
        """Refuse to show what a reducer reads of a message."""
        if name in {"content", "tool_calls", "additional_kwargs"}:
            message = "read"
            raise AssertionError(message)
        return super().__getattribute__(name)


def ask(text: str = "And then?") -> HumanMessage:
    """Make a question."""
    return HumanMessage(text)


def say(text: str = "So.") -> AIMessage:
    """Make a plain answer of the model."""
    return AIMessage(text)


def call(*ids: str | None, text: str = "", **fields: Any) -> AIMessage:
    """Make calls, one for each id."""
    calls: list[Any] = [{"name": "look", "args": {}, "id": id_} for id_ in ids]
    return AIMessage(text, tool_calls=calls, **fields)


def result(id_: str, text: str = "found") -> ToolMessage:
    """Make the result of a call."""
    return ToolMessage(text, tool_call_id=id_)


def blocks(*items: str | dict[str, Any]) -> HumanMessage:
    """Make a user message of content blocks."""
    return HumanMessage(list(items))


def tool_result(id_: str, text: str = "found") -> dict[str, Any]:
    """Make the result of a call as a block of a user message."""
    return {"type": "tool_result", "tool_use_id": id_, "content": text}


def not_injected(message: BaseMessage) -> bool:
    """Tell the user's own questions from those that an application put in."""
    return message.name != "nudge"


# --- how a corner is written ---------------------------------------------------------------------

APPROVAL = {"type": "mcp_approval_request", "id": "p", "name": "send", "arguments": "{}"}
APPROVED = {"type": "mcp_approval_response", "approval_request_id": "p", "approve": True}
LEGACY = {"function_call": {"name": "f", "arguments": "{}"}}
INVALID: Any = {"name": "f", "args": "{", "id": "a", "error": "no JSON"}
ODD: dict[str, BaseMessage] = {
    "approval?": AIMessage([APPROVAL]),
    "approved": blocks(APPROVED),
    "wrapped?": AIMessage([{"type": "non_standard", "value": APPROVAL}]),
    "wrapped": blocks({"type": "non_standard", "value": APPROVED}),
    "beside?": AIMessage("", additional_kwargs={"tool_outputs": [APPROVAL]}),
    "function?": AIMessage("", additional_kwargs=LEGACY),
    "function": FunctionMessage(content="found", name="f"),
    "invalid?": call(invalid_tool_calls=[INVALID]),
    "empty-id?": call(""),
    "no-id?": call(None),
    "no-id": blocks({"type": "tool_result", "content": "found"}),
    "no-function": FunctionMessage(content="found", name=""),
    "remove": RemoveMessage("1"),
    "nudge": HumanMessage("Go on.", name="nudge"),
}
PLAIN: dict[str, Callable[..., BaseMessage]] = {"S": system, "U": ask, "A": say}
MORE: dict[str, list[str | dict[str, Any]]] = {
    "text": [{"type": "text", "text": "and this?"}],
    "string": ["and this?"],
}
BY_ID = ("tool_use", "tool_call", "tool_call_chunk", "invalid_tool_call")
BY_CALL_ID = ("function_call", "custom_tool_call", "computer_call")
STEP = re.compile(
    r"([SUAT])(?:@(\w+))?(?::([\w.?]*))?(?:>(\w+))?(?:<(\w*))?(?:\+(\w+))?(?:\{(\w+):(\w)\})?"
)
NAMED: dict[str, Any] = {
    each.__name__: each for each in (letters, letters_of, letters_and_two, not_injected, bool)
}


def _message(step: str) -> BaseMessage:
    """Make the message that a step of a history stands for."""
    if step in ODD:
        return ODD[step].model_copy()
    match = STEP.fullmatch(step)
    assert match, step
    letter, role, text, calls, answers, more, kind, id_ = match.groups()
    if kind:
        items = [{"type": kind, "id" if kind in BY_ID else "call_id": id_}]
        return blocks(*items) if letter == "U" else AIMessage(list(items))
    if calls:
        return call(*calls, text=text or "")
    if letter == "U" and answers is not None:
        return blocks(*map(tool_result, answers), *MORE.get(more, []))
    said = [] if text is None else [text]
    plain = result(answers or "", *said) if letter == "T" else PLAIN[letter](*said)
    return ChatMessage(content=plain.content, role=role) if role else plain


def history(shape: str) -> list[BaseMessage]:
    """Make a history of its steps."""
    spread = re.sub(r"(\d+)\*\((.*?)\)", lambda m: f"{m[2]} " * int(m[1]), shape)
    return [_message(step) for step in spread.split()]


def _value(text: str) -> Any:
    """Read an option: a function, a number or a word."""
    return NAMED.get(text) or (literal_eval(text) if text[0].isdigit() else text)


def _corners(table: str) -> list[Corner]:
    """Read a table; what belongs to a corner stands indented below its name."""
    return [_corner(" ".join(row.split())) for row in re.split(r"\n(?!\s)", table.strip())]


def _corner(row: str) -> Corner:
    name, holds, shape, rest = re.split(r" ?\| ?", row)
    written, _, out = rest.partition(" ->")
    options = {key: _value(text) for key, text in (each.split("=") for each in written.split())}
    if out == " ValueError":
        return Corner(name, holds, history(shape), options, raises=(ValueError,))
    keep: list[int] = []
    changed: dict[int, Any] = {}
    for each in out.split():
        position, _, step = each.partition("=")
        first, _, last = position.partition("-")
        keep += range(int(first), int(last or first) + 1)
        if step:
            changed[int(first)] = _message(step).content
    return Corner(name, holds, history(shape), options, keep, changed)


PROMISES = _corners("""
promise 1: whole turns with their calls | The most recent whole turns that fit are kept, every
    call together with its result. | U A U A>a T<a A U A | max_messages=6 -> 2-7
promise 2: calls and results count | Every message but the system message counts, calls and
    results too. | S U A U A>a T<a A | max_messages=5 -> 0 3 4 5 6
promise 3: a user message starts a turn | A turn is cut before its question and nowhere else. |
    U A A U A | max_messages=4 -> 3 4
promise 3: an approval starts no turn | A user message that only answers an approval stays in the
    turn of its question. | U A U approval? approved A | max_messages=4 -> 2 3 4 5
promise 4: no older turn behind a dropped one | The first turn that does not fit goes with all
    that is older, smaller turns too. | U A U A>a T<a A U A | max_messages=5 -> 6 7
promise 5: question and most recent messages | Of a newest turn over the budget the question and
    the most recent messages are kept. | U A U A>a T<a A>b T<b A>c T<c | max_messages=5 -> 2 5 6 7 8
promise 6: a result goes with its call | A result whose call was cut away goes with it. |
    U A>a T<a A>b T<b | max_messages=4 -> 0 3 4
promise 6: an approval response goes with its request | An approval response whose request was cut
    away goes with it. | U approval? approved A | max_messages=3 -> 0 3
promise 7: the system message is free | The first system message is kept and not counted. |
    S 3*(U A) | max_messages=4 -> 0 3 4 5 6
""")

SETTLED = _corners("""
everything fits | A history within the budget comes out whole. |
    S A:Hello. U A>a T<a A U | max_messages=6 -> 0-6
empty list | Nothing in, nothing out. |
     | max_messages=3 ->
system message only | A lone system message comes out. |
    S | max_messages=1 -> 0
a budget of one | One message over a budget of one leaves the newest question. |
    S U A U A>a T<a | max_messages=1 -> 0 3
newest turn of exactly the budget | A newest turn of exactly the budget stays whole. |
    U A U A>a T<a A>b T<b | max_messages=5 -> 2-6
newest turn one over the budget | A newest turn one over the budget loses its first call and, with
    it, its result. | U A U A>a T<a A>b T<b | max_messages=4 -> 2 5 6
cut inside parallel calls | The results of a cut call go, and no older turn fills the room. |
    U U A>abc T<a T<b T<c A>d T<d | max_messages=5 -> 1 6 7
newest step alone over the budget | A newest step that does not fit leaves its question alone. |
    U A>a T<a A>bcd T<b T<c T<d | max_messages=4 -> 0
no question in the newest turn | Without a question the most recent messages that fit are kept. |
    A A>a T<a A A | max_messages=3 -> 3 4
no question and nothing left | Without a question, stranded answers may leave nothing. |
    A>ab T<a T<b | max_messages=2 ->
answer in a later turn than its call | An answer goes with its call even out of a turn that is
    kept. | U A>a U T<a A | max_messages=3 -> 2 4
an answer-only message half stranded | Only the stranded blocks of a user message go, in a copy. |
    U A>a U A>b U<ab A | max_messages=4 -> 2 3 4=U<b 5
a question with a stranded answer | A question loses its stranded blocks and keeps its text. |
    U A>a U<a+text A | max_messages=2 -> 2=U<+text 3
an answer-only message wholly stranded | A user message of which nothing is left goes. |
    U A>ab U<ab A | max_messages=3 -> 0 3
same id in another turn | An answer belongs to the nearest earlier call, even if its id is used
    again later. | U A>x U T<x A>x T<x A | max_messages=5 -> 2 4 5 6
same id in one turn | A stranded answer goes even if a later call with its id is kept. |
    U A>x T<x A>x T<x | max_messages=4 -> 0 3 4
an id used again before a late answer | An answer stays with the nearest call although an older
    one with its id was cut. | U A>x U A>x U T<x A | max_messages=5 -> 2-6
an approval in a later turn than its request | It never stays without its request. |
    U approval? U A U A approved | max_messages=4 -> 4 5
an approval in a later turn than its request, all fits | It stays where its request does. |
    U approval? U A U A approved | max_messages=7 -> 0-6
answers in another order | Answers in another order than their calls are left as they are. |
    U A U A>ab T<b T<a A | max_messages=5 -> 2-6
an answer without a call in the input | An answer that never had a call is left alone. |
    U A U T<a A | max_messages=3 -> 2 3 4
only answers in the input | A client that sends answers alone gets them through. |
    T<a T<b | max_messages=2 -> 0 1
a call that comes after its answer | A later call with its id does not make an answer stranded. |
    T<a A>a U T<b A>b | max_messages=3 -> 2 3 4
a call without an answer in a kept turn | A call that waits for its answer is left alone. |
    U A U A>a U A | max_messages=4 -> 2 3 4 5
a call without an answer in a dropped turn | A call that waits for its answer goes with its turn. |
    U A>a U A | max_messages=3 -> 2 3
an empty id | Answers and calls with an empty id never pair and never raise. |
    U empty-id? T< no-id? no-id no-function | max_messages=5 -> 0 2 3 4 5
a RemoveMessage | A message that is an instruction to the state is refused. |
    U remove A | max_messages=5 -> ValueError
""")

TERMS = _corners(
    "\n".join(
        f"""a call in the content: {kind} |
    A call that stands in the content alone takes its result with it, or keeps it. |
    U A{{{kind}:a}} T<a A{{{kind}:b}} T<b | max_messages=4 -> 0 3 4"""
        for kind in BY_ID + BY_CALL_ID
    )
) + _corners("""
a system message that stands later | The system message leads the output wherever it stands. |
    U A S U A | max_messages=2 -> 2 3 4
a system message that stands later, all fits | The system message leads the output even when
    nothing is cut. | U S A | max_messages=2 -> 1 0 2
a system message inside what is kept | The system message takes no room of a turn that it stands
    in. | U A U S A U A | max_messages=4 -> 3 2 4 5 6
later system messages | A later system message counts, and goes with the turn that it stands in. |
    S U A S:Now. U A | max_messages=4 -> 0 4 5
roles that lead | A message whose role is developer is a system message. |
    S@developer U A U | max_messages=1 -> 0 3
roles that ask | A message whose role is user starts a turn. |
    U A U@user:And? A@assistant | max_messages=3 -> 2 3
a role of tool | A message whose role is tool has no id and stays with its turn. |
    U A>a U T@tool A | max_messages=3 -> 2 3 4
a greeting | What precedes the first question is the oldest turn. |
    A:Hello. U A U | max_messages=3 -> 1 2 3
a string among the blocks | A user message with a plain string among its answers is a question. |
    U A>a U<a+string A | max_messages=2 -> 2=U<+string 3
an empty list of blocks | A user message with empty content is a question. |
    U A U< A | max_messages=3 -> 2 3
a wrapped answer | An answer block is known inside its wrapping, and a call block too. |
    U wrapped? wrapped A | max_messages=3 -> 0 3
a patch | The output of a patch is an answer in a user message. |
    U A{apply_patch_call:a} U{apply_patch_call_output:a} A | max_messages=3 -> 0 3
a tool search | The output of a tool search is an answer in a user message. |
    U A{tool_search_call:a} U{tool_search_output:a} A | max_messages=3 -> 0 3
items beside the content | Calls that stand in the tool outputs of a message count as its calls. |
    U beside? approved A | max_messages=3 -> 0 3
a legacy function call | A function message goes with the call of its name. |
    U function? function A | max_messages=3 -> 0 3
an invalid call | The result of an invalid call goes with it. |
    U invalid? T<a A | max_messages=3 -> 0 3
""")

OPTIONS = _corners("""
max_turns | So many turns are kept, however long. |
    U A U A U A>a T<a A>b T<b A>c T<c | max_turns=2 -> 2-10
max_turns counts the greeting | What precedes the first question is a turn under max_turns. |
    A:Hello. U A U A | max_turns=2 -> 1 2 3 4
max_turns and max_messages | A turn is kept while it fits every budget. |
    U A U A U A>a T<a A>b T<b | max_turns=2 max_messages=6 -> 4-8
max_tokens covers the system message | Tokens cover all that is returned, the system message too. |
    S:sss U:aa A:bb U:cc A:dd | max_tokens=10 token_counter=letters -> 0 3 4
max_tokens of exactly the budget | A window of exactly the token budget stays whole. |
    S:sss U:aa A:bb U:cc A:dd | max_tokens=11 token_counter=letters -> 0-4
max_tokens in a cut turn | The tail of a cut turn is the longest run of most recent messages that
    fits. | U:aa A:bbbb A:ccc A:dd | max_tokens=7 token_counter=letters -> 0 2 3
max_tokens counts no stranded answer of a tail | A stranded answer costs a cut turn nothing. |
    U:aa A:bbb>a A:x T:ccccc<a A:dd | max_tokens=5 token_counter=letters -> 0 2 4
max_tokens counts a whole turn as it stands | A whole turn is counted with the answers that the
    cut is about to strand. |
    U:aa A:b>a U:c T:dddd<a U:e A:f | max_tokens=6 token_counter=letters -> 4 5
max_tokens sums the parts | Each part of a window is counted as a list of its own. |
    S:s U:aa A:bb U:cc A:dd | max_tokens=14 token_counter=letters_and_two -> 0 3 4
max_tokens of a system message inside what is kept | The system message is counted once, wherever
    it stands. |
    U:a A:b U:cc S:sss A:dd U:e A:f | max_tokens=9 token_counter=letters_of -> 3 2 4 5 6
max_tokens without a system message | A part that is not there is not counted. |
    U:aa A:bb U:cc A:dd | max_tokens=12 token_counter=letters_and_two -> 0 1 2 3
max_tokens sums the parts of a cut turn | The question and the tail of a cut turn are counted as
    two lists. | S:s U:aa A:bb A:cc A:dd | max_tokens=12 token_counter=letters_and_two -> 0 1 4
a question over max_tokens | The newest question is kept even when it alone is over. |
    S:s U:a U:bbbb A:c | max_tokens=3 token_counter=letters -> 0 2
overflow keep | The newest step stays whole, over the budget. |
    U A>a T<a A>bcd T<b T<c T<d | max_messages=4 overflow=keep -> 0 3 4 5 6
overflow keep, no question | The newest step stays whole where there is no question. |
    A A>ab T<a T<b | max_messages=2 overflow=keep -> 1 2 3
overflow error | A newest step that does not fit raises. |
    U A>a T<a A>bcd T<b T<c T<d | max_messages=4 overflow=error -> ValueError
overflow error, no question | A newest step that does not fit raises where there is no question. |
    A A>ab T<a T<b | max_messages=2 overflow=error -> ValueError
overflow error, a question alone | A question that alone is over the tokens raises. |
    U:a A:b U:cccc | max_tokens=3 token_counter=letters overflow=error -> ValueError
overflow error, a step that fits | A newest step that fits beside its question raises nothing. |
    U A>abc T<a T<b T<c A>de T<d T<e | max_messages=4 overflow=error -> 0 5 6 7
starts_turn | A message that the predicate refuses stays in its turn. |
    U A>a T<a nudge A | max_messages=3 starts_turn=not_injected -> 0 3 4
starts_turn and an answer | The predicate cannot make an answer into a question. |
    U approval? approved A | max_messages=3 starts_turn=bool -> 0 3
trim_to grows to the budget | Up to the budget nothing is cut. |
    5*(U A) | max_messages=10 trim_to=0.5 -> 0-9
trim_to and a system message that stands later | The system message leads a window that was never
    cut. | U S A | max_messages=2 trim_to=0.5 -> 1 0 2
trim_to cuts to the share | Over the budget the history is cut to the share, and grows again from
    there. | 6*(U A) | max_messages=10 trim_to=0.5 -> 6-11
trim_to between cuts | Between two cuts the window keeps its start. |
    8*(U A) | max_messages=10 trim_to=0.5 -> 6-15
trim_to keeps a newest turn that fits | A newest turn that fits the full budget stays whole,
    though it is over the share. | U A U A>a T<a A>b T<b | max_messages=6 trim_to=0.5 -> 2-6
trim_to keeps a newest step that fits | A newest step that fits the full budget stays whole,
    though it is over the share. |
    U A>a T<a A>bcd T<b T<c T<d | max_messages=5 trim_to=0.4 -> 0 3 4 5 6
trim_to with an overflow | A newest step that does not fit the full budget leaves its question. |
    U A>a T<a A>bcde T<b T<c T<d T<e | max_messages=5 trim_to=0.4 -> 0
trim_to with an overflow kept | A newest step that does not fit the full budget can be kept. |
    U A>a T<a A>bcde T<b T<c T<d T<e | max_messages=5 trim_to=0.4 overflow=keep -> 0 3-7
trim_to raises at the end only | An overflow that is over by the end of the history raises
    nothing. | U A>abcd T<a T<b T<c T<d A | max_messages=4 trim_to=0.5 overflow=error -> 0 6
trim_to counts a late answer | An answer whose call the fold cut takes room until the end, and is
    not returned. | U A>a U A U A T<a U A | max_messages=4 trim_to=0.5 -> 7 8
trim_to counts a late answer where it cuts again | A later cut counts it too, and what it keeps
    comes out without it. | U A>a U A U A U T<a A | max_messages=5 trim_to=0.8 -> 4 5 6 8
trim_to scales every budget | Turns and tokens are cut to the share with the messages. |
    U:aa A:bb U:cc A:dd U:ee A:ff U:gg A:hh | max_turns=9 max_tokens=12 token_counter=letters_of
    trim_to=0.5 -> 4 5 6 7
trim_to scales to one at least | A budget is scaled to one at least. |
    T<a T<b T<c T<d | max_messages=3 trim_to=0.1 -> 3
trim_to of a product that floats just below | A share of 0.58 of fifty is 29, whatever the floats
    make of it. | 51*(U) | max_messages=50 trim_to=0.58 -> 22-50
trim_to waits for a result | A fold cuts before no message that is an answer. |
    U A A A A A>a T<a | max_messages=5 trim_to=0.8 -> 0 4 5 6
trim_to waits for an approval | A fold cuts before no message that is an answer. |
    U A A A A approval? approved | max_messages=5 trim_to=0.8 -> 0 4 5 6
trim_to waits for a function | A fold cuts before no message that is an answer. |
    U A A A A function? function | max_messages=5 trim_to=0.8 -> 0 4 5 6
trim_to waits for no ChatMessage | A fold cuts before a message whose role is tool. |
    U A A A A A T@tool | max_messages=5 trim_to=0.8 -> 0 3 4 5 6
trim_to with starts_turn | A user message that starts no turn is no answer either, so a fold cuts
    before it. |
    U A A A A A nudge A | max_messages=5 trim_to=0.8 starts_turn=not_injected -> 0 5 6 7
trim_to keeps an overflow that has no question | A step that the history begins with can be kept,
    though it does not fit. | A>ab T<a T<b | max_messages=2 trim_to=0.6 overflow=keep -> 0 1 2
trim_to before a system message comes, in messages | A system message that the history has not
    come to yet is not left out of a count. | 6*(U) S | max_messages=5 trim_to=0.6 -> 6 3 4 5
trim_to before a system message comes, in a step | Nor is it left out of the newest step. |
    U A T@tool:So. T@tool:So. T@tool:So. S T<a | max_messages=4 trim_to=0.75 -> 5 0 3 4 6
trim_to before a system message comes, in tokens | A system message that the history has not come
    to yet takes no room. |
    U:aa A:bb U:cc A:dd U:e S:ss | max_tokens=8 token_counter=letters_of trim_to=0.75 -> 5 2 3 4
trim_to where a system message comes right behind a cut | The cut is made before it, though an
    answer follows. | U A A A A A S T<a | max_messages=5 trim_to=0.8 -> 6 0 3 4 5 7
trim_to where a system message comes right behind a cut, in tokens | The cut is made before it,
    though an answer follows. |
    U:a 5*(A:b) S: T:c<a | max_tokens=5 token_counter=letters_of trim_to=0.8 -> 6 0 3 4 5 7
trim_to where a system message makes it too much | The cut is made right behind it, neither
    earlier nor later. |
    U:aa A:bb U:c U:d S:ssss U:e | max_tokens=8 token_counter=letters_of trim_to=0.5 -> 4 3 5
trim_to with a system message that just fits | A system message is counted once. |
    S:ss U:aa A:bb | max_tokens=6 token_counter=letters_of trim_to=0.5 -> 0 1 2
trim_to with a system message that is one too many | A system message is counted in full. |
    S:ss U:aa A:bb U:c | max_tokens=6 token_counter=letters_of trim_to=0.5 -> 0 3
a step with a system message in it that just fits | A system message in the newest step is not
    counted in messages. | U A A>a S T<a | max_messages=3 overflow=error -> 3 0 2 4
a step that just fits, in tokens | A newest step that is all the budget does not overflow. |
    U:a A:bb A:cc | max_tokens=3 token_counter=letters_of overflow=error -> 0 2
trim_to of one | A share of one is the strict rule. |
    8*(U A) | max_messages=10 trim_to=1 -> 6-15
""")

_NOT_LISTS: list[tuple[str, Any]] = [
    ("a mapping", {"messages": [ask()]}),
    ("a bare string", "hello"),
    ("one message", ask()),
]
_WRONG_OPTIONS: list[tuple[str, dict[str, Any], tuple[type[Exception], ...]]] = [
    ("no budget at all", {}, (ValueError,)),
    ("a budget of nothing", {"max_messages": 0}, (ValueError,)),
    ("a negative budget", {"max_turns": -1}, (ValueError,)),
    ("a bool for a budget", {"max_messages": True}, (ValueError,)),
    ("a float for a budget", {"max_tokens": 50.0}, (ValueError,)),
    ("a string for a budget", {"max_messages": "50"}, (ValueError,)),
    ("a misspelt name", {"max_message": 50}, (TypeError, ValueError)),
    ("a share of nothing", {"max_messages": 3, "trim_to": 0}, (ValueError,)),
    ("a share over one", {"max_messages": 3, "trim_to": 1.5}, (ValueError,)),
]
REFUSED = [
    Corner(
        f"refused: {name}",
        f"An input that is {name} is refused in place of a list.",
        messages,
        {"max_messages": 3},
        raises=(TypeError,),
    )
    for name, messages in _NOT_LISTS
] + [
    Corner(f"refused: {name}", f"Options with {name} are refused.", [ask()], options, raises=errors)
    for name, options, errors in _WRONG_OPTIONS
]

CONVERTED = [
    Corner(
        "tuples and dicts",
        "Message-like input is converted.",
        [("human", "one"), ("ai", "two"), {"role": "user", "content": "three"}, "four"],
        {"max_messages": 2},
        [2, 3],
    ),
    Corner(
        "a prompt value",
        "A prompt value is converted.",
        ChatPromptValue(messages=[ask("one"), say("two"), ask("three")]),
        {"max_messages": 2},
        [2],
    ),
]

CORNERS = [*PROMISES, *SETTLED, *TERMS, *OPTIONS, *REFUSED, *CONVERTED]
