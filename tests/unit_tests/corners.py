"""The promises and the settled corners of the rule, as inputs and what must come out of them.

A table, so that one test can put every implementation to it. Histories are written in short:
`ask`, `say`, `call` and `result` make the messages, and what must come out is a list of positions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.prompt_values import ChatPromptValue


@dataclass(frozen=True)
class Corner:
    """One input, its options and what must come out.

    Attributes:
        name: Names the case in a test report.
        holds: What the case holds, in one sentence.
        messages: The input, a list of messages unless the case is about other inputs.
        options: The options by the names of the package; a counter is `letters`, `letters_of` or
            `letters_and_two`.
        keep: The positions that must come out, in the order of the output.
        changed: Positions whose content must come out as given here, in a copy.
        raises: The errors of which one must be raised instead.
    """

    name: str
    holds: str
    messages: Any
    options: dict[str, Any]
    keep: list[int] = field(default_factory=list)
    changed: dict[int, list[Any]] = field(default_factory=dict)
    raises: tuple[type[Exception], ...] = ()

    @property
    def core(self) -> bool:
        """Whether the input is a list of messages, as the rule itself takes it."""
        return isinstance(self.messages, list) and all(
            isinstance(message, BaseMessage) for message in self.messages
        )


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


def ask(text: str = "And then?") -> HumanMessage:
    """Make a question."""
    return HumanMessage(text)


def say(text: str = "So.") -> AIMessage:
    """Make a plain answer of the model."""
    return AIMessage(text)


def call(*ids: str, text: str = "") -> AIMessage:
    """Make calls, one for each id."""
    return AIMessage(text, tool_calls=[{"name": "look", "args": {}, "id": id_} for id_ in ids])


def result(id_: str, text: str = "found") -> ToolMessage:
    """Make the result of a call."""
    return ToolMessage(text, tool_call_id=id_)


def blocks(*items: str | dict[str, Any]) -> HumanMessage:
    """Make a user message of content blocks."""
    return HumanMessage(list(items))


def tool_result(id_: str, text: str = "found") -> dict[str, Any]:
    """Make the result of a call as a block of a user message."""
    return {"type": "tool_result", "tool_use_id": id_, "content": text}


def made(*items: dict[str, Any]) -> AIMessage:
    """Make a message of the model out of content blocks."""
    return AIMessage(list(items))


TEXT = {"type": "text", "text": "and this?"}
APPROVAL = {"type": "mcp_approval_request", "id": "p", "name": "send", "arguments": "{}"}
APPROVED = {"type": "mcp_approval_response", "approval_request_id": "p", "approve": True}


def not_injected(message: BaseMessage) -> bool:
    """Tell the user's own questions from those that an application put in."""
    return message.name != "nudge"


def _nudge() -> HumanMessage:
    return HumanMessage("Go on.", name="nudge")


def _loop(steps: int) -> list[BaseMessage]:
    """Ask once, and take so many steps of a call and its result."""
    history: list[BaseMessage] = [ask()]
    for step in range(steps):
        history += [call(f"c{step}"), result(f"c{step}")]
    return history


def _chat(turns: int) -> list[BaseMessage]:
    """Ask and answer so many times."""
    return [message for _ in range(turns) for message in (ask(), say())]


def _steps(*sizes: int) -> list[BaseMessage]:
    """Ask once, and take a step for each size: that many calls, and their results."""
    history: list[BaseMessage] = [ask()]
    for step, size in enumerate(sizes):
        ids = [f"s{step}-{number}" for number in range(size)]
        history += [call(*ids), *(result(id_) for id_ in ids)]
    return history


PROMISES = [
    Corner(
        "promise 1: whole turns with their calls",
        "The most recent whole turns that fit are kept, every call together with its result.",
        [ask(), say(), ask(), call("a"), result("a"), say(), ask(), say()],
        {"max_messages": 6},
        [2, 3, 4, 5, 6, 7],
    ),
    Corner(
        "promise 2: calls and results count",
        "Every message but the system message counts, calls and results too.",
        [system(), ask(), say(), ask(), call("a"), result("a"), say()],
        {"max_messages": 5},
        [0, 3, 4, 5, 6],
    ),
    Corner(
        "promise 3: a user message starts a turn",
        "A turn is cut before its question and nowhere else.",
        [ask(), say(), say(), ask(), say()],
        {"max_messages": 4},
        [3, 4],
    ),
    Corner(
        "promise 3: an approval starts no turn",
        "A user message that only answers an approval stays in the turn of its question.",
        [ask(), say(), ask(), made(APPROVAL), blocks(APPROVED), say()],
        {"max_messages": 4},
        [2, 3, 4, 5],
    ),
    Corner(
        "promise 4: no older turn behind a dropped one",
        "The first turn that does not fit goes with all that is older, smaller turns too.",
        [ask(), say(), ask(), call("a"), result("a"), say(), ask(), say()],
        {"max_messages": 5},
        [6, 7],
    ),
    Corner(
        "promise 5: question and most recent messages",
        "Of a newest turn over the budget the question and the most recent messages are kept.",
        [ask(), say(), *_loop(3)],
        {"max_messages": 5},
        [2, 5, 6, 7, 8],
    ),
    Corner(
        "promise 6: a result goes with its call",
        "A result whose call was cut away goes with it.",
        _loop(2),
        {"max_messages": 4},
        [0, 3, 4],
    ),
    Corner(
        "promise 6: an approval response goes with its request",
        "An approval response whose request was cut away goes with it.",
        [ask(), made(APPROVAL), blocks(APPROVED), say()],
        {"max_messages": 3},
        [0, 3],
    ),
    Corner(
        "promise 7: the system message is free",
        "The first system message is kept and not counted.",
        [system(), *_chat(3)],
        {"max_messages": 4},
        [0, 3, 4, 5, 6],
    ),
]

SETTLED = [
    Corner(
        "everything fits",
        "A history within the budget comes out whole.",
        [system(), say("Hello."), ask(), call("a"), result("a"), say(), ask()],
        {"max_messages": 6},
        [0, 1, 2, 3, 4, 5, 6],
    ),
    Corner("empty list", "Nothing in, nothing out.", [], {"max_messages": 3}, []),
    Corner(
        "system message only",
        "A lone system message comes out.",
        [system()],
        {"max_messages": 1},
        [0],
    ),
    Corner(
        "a budget of one",
        "One message over a budget of one leaves the newest question.",
        [system(), ask(), say(), ask(), call("a"), result("a")],
        {"max_messages": 1},
        [0, 3],
    ),
    Corner(
        "newest turn of exactly the budget",
        "A newest turn of exactly the budget stays whole.",
        [ask(), say(), *_loop(2)],
        {"max_messages": 5},
        [2, 3, 4, 5, 6],
    ),
    Corner(
        "newest turn one over the budget",
        "A newest turn one over the budget loses its first call and, with it, its result.",
        [ask(), say(), *_loop(2)],
        {"max_messages": 4},
        [2, 5, 6],
    ),
    Corner(
        "cut inside parallel calls",
        "The results of a cut call go, and no older turn fills the room.",
        [ask(), *_steps(3, 1)],
        {"max_messages": 5},
        [1, 6, 7],
    ),
    Corner(
        "newest step alone over the budget",
        "A newest step that does not fit leaves its question alone.",
        _steps(1, 3),
        {"max_messages": 4},
        [0],
    ),
    Corner(
        "no question in the newest turn",
        "Without a question the most recent messages that fit are kept.",
        [say(), call("a"), result("a"), say(), say()],
        {"max_messages": 3},
        [3, 4],
    ),
    Corner(
        "no question and nothing left",
        "Without a question, stranded answers may leave nothing.",
        [call("a", "b"), result("a"), result("b")],
        {"max_messages": 2},
        [],
    ),
    Corner(
        "answer in a later turn than its call",
        "An answer goes with its call even out of a turn that is kept.",
        [ask(), call("a"), ask(), result("a"), say()],
        {"max_messages": 3},
        [2, 4],
    ),
    Corner(
        "an answer-only message half stranded",
        "Only the stranded blocks of a user message go, in a copy.",
        [ask(), call("a"), ask(), call("b"), blocks(tool_result("a"), tool_result("b")), say()],
        {"max_messages": 4},
        [2, 3, 4, 5],
        {4: [tool_result("b")]},
    ),
    Corner(
        "a question with a stranded answer",
        "A question loses its stranded blocks and keeps its text.",
        [ask(), call("a"), blocks(tool_result("a"), TEXT), say()],
        {"max_messages": 2},
        [2, 3],
        {2: [TEXT]},
    ),
    Corner(
        "an answer-only message wholly stranded",
        "A user message of which nothing is left goes.",
        [ask(), call("a", "b"), blocks(tool_result("a"), tool_result("b")), say()],
        {"max_messages": 3},
        [0, 3],
    ),
    Corner(
        "same id in another turn",
        "An answer belongs to the nearest earlier call, even if its id is used again later.",
        [ask(), call("x"), ask(), result("x"), call("x"), result("x"), say()],
        {"max_messages": 5},
        [2, 4, 5, 6],
    ),
    Corner(
        "same id in one turn",
        "A stranded answer goes even if a later call with its id is kept.",
        [ask(), call("x"), result("x"), call("x"), result("x")],
        {"max_messages": 4},
        [0, 3, 4],
    ),
    Corner(
        "an id used again before a late answer",
        "An answer stays with the nearest call although an older one with its id was cut.",
        [ask(), call("x"), ask(), call("x"), ask(), result("x"), say()],
        {"max_messages": 5},
        [2, 3, 4, 5, 6],
    ),
    Corner(
        "answers in another order",
        "Answers in another order than their calls are left as they are.",
        [ask(), say(), ask(), call("a", "b"), result("b"), result("a"), say()],
        {"max_messages": 5},
        [2, 3, 4, 5, 6],
    ),
    Corner(
        "an answer without a call in the input",
        "An answer that never had a call is left alone.",
        [ask(), say(), ask(), result("nowhere"), say()],
        {"max_messages": 3},
        [2, 3, 4],
    ),
    Corner(
        "only answers in the input",
        "A client that sends answers alone gets them through.",
        [result("a"), result("b")],
        {"max_messages": 2},
        [0, 1],
    ),
    Corner(
        "a call that comes after its answer",
        "A later call with its id does not make an answer stranded.",
        [result("a"), call("a"), ask(), result("b"), call("b")],
        {"max_messages": 3},
        [2, 3, 4],
    ),
    Corner(
        "a call without an answer in a kept turn",
        "A call that waits for its answer is left alone.",
        [ask(), say(), ask(), call("a"), ask(), say()],
        {"max_messages": 4},
        [2, 3, 4, 5],
    ),
    Corner(
        "a call without an answer in a dropped turn",
        "A call that waits for its answer goes with its turn.",
        [ask(), call("a"), ask(), say()],
        {"max_messages": 3},
        [2, 3],
    ),
    Corner(
        "an empty id",
        "Answers and calls with an empty id never pair and never raise.",
        [
            ask(),
            AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": ""}]),
            result(""),
            AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": None}]),
            blocks({"type": "tool_result", "content": "found"}),
            FunctionMessage(content="found", name=""),
        ],
        {"max_messages": 5},
        [0, 2, 3, 4, 5],
    ),
    Corner(
        "a RemoveMessage",
        "A message that is an instruction to the state is refused.",
        [ask(), RemoveMessage("1"), say()],
        {"max_messages": 5},
        raises=(ValueError,),
    ),
]

_CALLS_IN_CONTENT = {
    "tool_use": "id",
    "tool_call": "id",
    "tool_call_chunk": "id",
    "invalid_tool_call": "id",
    "function_call": "call_id",
    "custom_tool_call": "call_id",
    "computer_call": "call_id",
}
TERMS = [
    Corner(
        f"a call in the content: {kind}",
        "A call that stands in the content alone takes its result with it, or keeps it.",
        [
            ask(),
            made({"type": kind, key: "a"}),
            result("a"),
            made({"type": kind, key: "b"}),
            result("b"),
        ],
        {"max_messages": 4},
        [0, 3, 4],
    )
    for kind, key in _CALLS_IN_CONTENT.items()
] + [
    Corner(
        "a system message that stands later",
        "The system message leads the output wherever it stands.",
        [ask(), say(), system(), ask(), say()],
        {"max_messages": 2},
        [2, 3, 4],
    ),
    Corner(
        "a system message that stands later, all fits",
        "The system message leads the output even when nothing is cut.",
        [ask(), system(), say()],
        {"max_messages": 2},
        [1, 0, 2],
    ),
    Corner(
        "a system message inside what is kept",
        "The system message takes no room of a turn that it stands in.",
        [ask(), say(), ask(), system(), say(), ask(), say()],
        {"max_messages": 4},
        [3, 2, 4, 5, 6],
    ),
    Corner(
        "later system messages",
        "A later system message counts, and goes with the turn that it stands in.",
        [system(), ask(), say(), system("Now."), ask(), say()],
        {"max_messages": 4},
        [0, 4, 5],
    ),
    Corner(
        "roles that lead",
        "A message whose role is developer is a system message.",
        [ChatMessage(content="Be brief.", role="developer"), ask(), say(), ask()],
        {"max_messages": 1},
        [0, 3],
    ),
    Corner(
        "roles that ask",
        "A message whose role is user starts a turn.",
        [
            ask(),
            say(),
            ChatMessage(content="And?", role="user"),
            ChatMessage(content="So.", role="assistant"),
        ],
        {"max_messages": 3},
        [2, 3],
    ),
    Corner(
        "a role of tool",
        "A message whose role is tool has no id and stays with its turn.",
        [ask(), call("a"), ask(), ChatMessage(content="found", role="tool"), say()],
        {"max_messages": 3},
        [2, 3, 4],
    ),
    Corner(
        "a greeting",
        "What precedes the first question is the oldest turn.",
        [say("Hello."), ask(), say(), ask()],
        {"max_messages": 3},
        [1, 2, 3],
    ),
    Corner(
        "a string among the blocks",
        "A user message with a plain string among its answers is a question.",
        [ask(), call("a"), blocks(tool_result("a"), "and this?"), say()],
        {"max_messages": 2},
        [2, 3],
        {2: ["and this?"]},
    ),
    Corner(
        "an empty list of blocks",
        "A user message with empty content is a question.",
        [ask(), say(), blocks(), say()],
        {"max_messages": 3},
        [2, 3],
    ),
    Corner(
        "a wrapped answer",
        "An answer block is known inside its wrapping, and a call block too.",
        [
            ask(),
            made({"type": "non_standard", "value": APPROVAL}),
            blocks({"type": "non_standard", "value": APPROVED}),
            say(),
        ],
        {"max_messages": 3},
        [0, 3],
    ),
    Corner(
        "a patch",
        "The output of a patch is an answer in a user message.",
        [
            ask(),
            made({"type": "apply_patch_call", "call_id": "a"}),
            blocks({"type": "apply_patch_call_output", "call_id": "a"}),
            say(),
        ],
        {"max_messages": 3},
        [0, 3],
    ),
    Corner(
        "a tool search",
        "The output of a tool search is an answer in a user message.",
        [
            ask(),
            made({"type": "tool_search_call", "call_id": "a"}),
            blocks({"type": "tool_search_output", "call_id": "a"}),
            say(),
        ],
        {"max_messages": 3},
        [0, 3],
    ),
    Corner(
        "items beside the content",
        "Calls that stand in the tool outputs of a message count as its calls.",
        [
            ask(),
            AIMessage("", additional_kwargs={"tool_outputs": [APPROVAL]}),
            blocks(APPROVED),
            say(),
        ],
        {"max_messages": 3},
        [0, 3],
    ),
    Corner(
        "a legacy function call",
        "A function message goes with the call of its name.",
        [
            ask(),
            AIMessage("", additional_kwargs={"function_call": {"name": "f", "arguments": "{}"}}),
            FunctionMessage(content="found", name="f"),
            say(),
        ],
        {"max_messages": 3},
        [0, 3],
    ),
    Corner(
        "an invalid call",
        "The result of an invalid call goes with it.",
        [
            ask(),
            AIMessage(
                "",
                invalid_tool_calls=[{"name": "f", "args": "{", "id": "a", "error": "no JSON"}],
            ),
            result("a"),
            say(),
        ],
        {"max_messages": 3},
        [0, 3],
    ),
]

_ANSWERED: list[tuple[str, BaseMessage, BaseMessage]] = [
    ("a result", call("a"), result("a")),
    ("an approval", made(APPROVAL), blocks(APPROVED)),
    (
        "a function",
        AIMessage("", additional_kwargs={"function_call": {"name": "f", "arguments": "{}"}}),
        FunctionMessage(content="found", name="f"),
    ),
]
OPTIONS = [
    Corner(
        "max_turns",
        "So many turns are kept, however long.",
        [*_chat(2), *_loop(3)],
        {"max_turns": 2},
        [2, 3, 4, 5, 6, 7, 8, 9, 10],
    ),
    Corner(
        "max_turns counts the greeting",
        "What precedes the first question is a turn under max_turns.",
        [say("Hello."), *_chat(2)],
        {"max_turns": 2},
        [1, 2, 3, 4],
    ),
    Corner(
        "max_turns and max_messages",
        "A turn is kept while it fits every budget.",
        [*_chat(2), *_loop(2)],
        {"max_turns": 2, "max_messages": 6},
        [4, 5, 6, 7, 8],
    ),
    Corner(
        "max_tokens covers the system message",
        "Tokens cover all that is returned, the system message too.",
        [system("sss"), ask("aa"), say("bb"), ask("cc"), say("dd")],
        {"max_tokens": 10, "token_counter": letters},
        [0, 3, 4],
    ),
    Corner(
        "max_tokens of exactly the budget",
        "A window of exactly the token budget stays whole.",
        [system("sss"), ask("aa"), say("bb"), ask("cc"), say("dd")],
        {"max_tokens": 11, "token_counter": letters},
        [0, 1, 2, 3, 4],
    ),
    Corner(
        "max_tokens in a cut turn",
        "The tail of a cut turn is the longest run of most recent messages that fits.",
        [ask("aa"), say("bbbb"), say("ccc"), say("dd")],
        {"max_tokens": 7, "token_counter": letters},
        [0, 2, 3],
    ),
    Corner(
        "max_tokens counts no stranded answer of a tail",
        "A stranded answer costs a cut turn nothing.",
        [ask("aa"), call("a", text="bbb"), say("x"), result("a", "ccccc"), say("dd")],
        {"max_tokens": 5, "token_counter": letters},
        [0, 2, 4],
    ),
    Corner(
        "max_tokens counts a whole turn as it stands",
        "A whole turn is counted with the answers that the cut is about to strand.",
        [ask("aa"), call("a", text="b"), ask("c"), result("a", "dddd"), ask("e"), say("f")],
        {"max_tokens": 6, "token_counter": letters},
        [4, 5],
    ),
    Corner(
        "max_tokens sums the parts",
        "Each part of a window is counted as a list of its own.",
        [system("s"), ask("aa"), say("bb"), ask("cc"), say("dd")],
        {"max_tokens": 14, "token_counter": letters_and_two},
        [0, 3, 4],
    ),
    Corner(
        "max_tokens of a system message inside what is kept",
        "The system message is counted once, wherever it stands.",
        [ask("a"), say("b"), ask("cc"), system("sss"), say("dd"), ask("e"), say("f")],
        {"max_tokens": 9, "token_counter": letters_of},
        [3, 2, 4, 5, 6],
    ),
    Corner(
        "max_tokens without a system message",
        "A part that is not there is not counted.",
        [ask("aa"), say("bb"), ask("cc"), say("dd")],
        {"max_tokens": 12, "token_counter": letters_and_two},
        [0, 1, 2, 3],
    ),
    Corner(
        "max_tokens sums the parts of a cut turn",
        "The question and the tail of a cut turn are counted as two lists.",
        [system("s"), ask("aa"), say("bb"), say("cc"), say("dd")],
        {"max_tokens": 12, "token_counter": letters_and_two},
        [0, 1, 4],
    ),
    Corner(
        "a question over max_tokens",
        "The newest question is kept even when it alone is over.",
        [system("s"), ask("a"), ask("bbbb"), say("c")],
        {"max_tokens": 3, "token_counter": letters},
        [0, 2],
    ),
    Corner(
        "overflow keep",
        "The newest step stays whole, over the budget.",
        _steps(1, 3),
        {"max_messages": 4, "overflow": "keep"},
        [0, 3, 4, 5, 6],
    ),
    Corner(
        "overflow keep, no question",
        "The newest step stays whole where there is no question.",
        [say(), call("a", "b"), result("a"), result("b")],
        {"max_messages": 2, "overflow": "keep"},
        [1, 2, 3],
    ),
    Corner(
        "overflow error",
        "A newest step that does not fit raises.",
        _steps(1, 3),
        {"max_messages": 4, "overflow": "error"},
        raises=(ValueError,),
    ),
    Corner(
        "overflow error, no question",
        "A newest step that does not fit raises where there is no question.",
        [say(), call("a", "b"), result("a"), result("b")],
        {"max_messages": 2, "overflow": "error"},
        raises=(ValueError,),
    ),
    Corner(
        "overflow error, a question alone",
        "A question that alone is over the tokens raises.",
        [ask("a"), say("b"), ask("cccc")],
        {"max_tokens": 3, "token_counter": letters, "overflow": "error"},
        raises=(ValueError,),
    ),
    Corner(
        "overflow error, a step that fits",
        "A newest step that fits beside its question raises nothing.",
        _steps(3, 2),
        {"max_messages": 4, "overflow": "error"},
        [0, 5, 6, 7],
    ),
    Corner(
        "starts_turn",
        "A message that the predicate refuses stays in its turn.",
        [ask(), call("a"), result("a"), _nudge(), say()],
        {"max_messages": 3, "starts_turn": not_injected},
        [0, 3, 4],
    ),
    Corner(
        "starts_turn and an answer",
        "The predicate cannot make an answer into a question.",
        [ask(), made(APPROVAL), blocks(APPROVED), say()],
        {"max_messages": 3, "starts_turn": bool},
        [0, 3],
    ),
    Corner(
        "trim_to grows to the budget",
        "Up to the budget nothing is cut.",
        _chat(5),
        {"max_messages": 10, "trim_to": 0.5},
        list(range(10)),
    ),
    Corner(
        "trim_to and a system message that stands later",
        "The system message leads a window that was never cut.",
        [ask(), system(), say()],
        {"max_messages": 2, "trim_to": 0.5},
        [1, 0, 2],
    ),
    Corner(
        "trim_to cuts to the share",
        "Over the budget the history is cut to the share, and grows again from there.",
        _chat(6),
        {"max_messages": 10, "trim_to": 0.5},
        [6, 7, 8, 9, 10, 11],
    ),
    Corner(
        "trim_to between cuts",
        "Between two cuts the window keeps its start.",
        _chat(8),
        {"max_messages": 10, "trim_to": 0.5},
        list(range(6, 16)),
    ),
    Corner(
        "trim_to keeps a newest turn that fits",
        "A newest turn that fits the full budget stays whole, though it is over the share.",
        [ask(), say(), *_loop(2)],
        {"max_messages": 6, "trim_to": 0.5},
        [2, 3, 4, 5, 6],
    ),
    Corner(
        "trim_to keeps a newest step that fits",
        "A newest step that fits the full budget stays whole, though it is over the share.",
        _steps(1, 3),
        {"max_messages": 5, "trim_to": 0.4},
        [0, 3, 4, 5, 6],
    ),
    Corner(
        "trim_to with an overflow",
        "A newest step that does not fit the full budget leaves its question.",
        _steps(1, 4),
        {"max_messages": 5, "trim_to": 0.4},
        [0],
    ),
    Corner(
        "trim_to with an overflow kept",
        "A newest step that does not fit the full budget can be kept.",
        _steps(1, 4),
        {"max_messages": 5, "trim_to": 0.4, "overflow": "keep"},
        [0, 3, 4, 5, 6, 7],
    ),
    Corner(
        "trim_to raises at the end only",
        "An overflow that is over by the end of the history raises nothing.",
        [*_steps(4), say()],
        {"max_messages": 4, "trim_to": 0.5, "overflow": "error"},
        [0, 6],
    ),
    Corner(
        "trim_to counts a late answer",
        "An answer whose call the fold cut takes room until the end, and is not returned.",
        [ask(), call("a"), *_chat(2), result("a"), *_chat(1)],
        {"max_messages": 4, "trim_to": 0.5},
        [7, 8],
    ),
    Corner(
        "trim_to counts a late answer where it cuts again",
        "A later cut counts it too, and what it keeps comes out without it.",
        [ask(), call("a"), *_chat(2), ask(), result("a"), say()],
        {"max_messages": 5, "trim_to": 0.8},
        [4, 5, 6, 8],
    ),
    Corner(
        "trim_to scales every budget",
        "Turns and tokens are cut to the share with the messages.",
        [ask("aa"), say("bb"), ask("cc"), say("dd"), ask("ee"), say("ff"), ask("gg"), say("hh")],
        {"max_turns": 9, "max_tokens": 12, "token_counter": letters_of, "trim_to": 0.5},
        [4, 5, 6, 7],
    ),
    Corner(
        "trim_to scales to one at least",
        "A budget is scaled to one at least.",
        [result("a"), result("b"), result("c"), result("d")],
        {"max_messages": 3, "trim_to": 0.1},
        [3],
    ),
    Corner(
        "trim_to of a product that floats just below",
        "A share of 0.58 of fifty is 29, whatever the floats make of it.",
        [ask() for _ in range(51)],
        {"max_messages": 50, "trim_to": 0.58},
        list(range(22, 51)),
    ),
    *(
        Corner(
            f"trim_to waits for {name}",
            "A fold cuts before no message that is an answer.",
            [ask(), say(), say(), say(), say(), calling, answer],
            {"max_messages": 5, "trim_to": 0.8},
            [0, 4, 5, 6],
        )
        for name, calling, answer in _ANSWERED
    ),
    Corner(
        "trim_to waits for no ChatMessage",
        "A fold cuts before a message whose role is tool.",
        [ask(), say(), say(), say(), say(), say(), ChatMessage(content="found", role="tool")],
        {"max_messages": 5, "trim_to": 0.8},
        [0, 3, 4, 5, 6],
    ),
    Corner(
        "trim_to with starts_turn",
        "A user message that starts no turn is no answer either, so a fold cuts before it.",
        [ask(), say(), say(), say(), say(), say(), _nudge(), say()],
        {"max_messages": 5, "trim_to": 0.8, "starts_turn": not_injected},
        [0, 5, 6, 7],
    ),
    Corner(
        "trim_to keeps an overflow that has no question",
        "A step that the history begins with can be kept, though it does not fit.",
        [call("a", "b"), result("a"), result("b")],
        {"max_messages": 2, "trim_to": 0.6, "overflow": "keep"},
        [0, 1, 2],
    ),
    Corner(
        "trim_to before a system message comes, in messages",
        "A system message that the history has not come to yet is not left out of a count.",
        [*(ask() for _ in range(6)), system()],
        {"max_messages": 5, "trim_to": 0.6},
        [6, 3, 4, 5],
    ),
    Corner(
        "trim_to before a system message comes, in a step",
        "Nor is it left out of the newest step.",
        [ask(), say(), *[ChatMessage(content="So.", role="tool")] * 3, system(), result("a")],
        {"max_messages": 4, "trim_to": 0.75},
        [5, 0, 3, 4, 6],
    ),
    Corner(
        "trim_to before a system message comes, in tokens",
        "A system message that the history has not come to yet takes no room.",
        [ask("aa"), say("bb"), ask("cc"), say("dd"), ask("e"), system("ss")],
        {"max_tokens": 8, "token_counter": letters_of, "trim_to": 0.75},
        [5, 2, 3, 4],
    ),
    Corner(
        "trim_to where a system message comes right behind a cut",
        "The cut is made before it, though an answer follows.",
        [ask(), *(say() for _ in range(5)), system(), result("a")],
        {"max_messages": 5, "trim_to": 0.8},
        [6, 0, 3, 4, 5, 7],
    ),
    Corner(
        "trim_to where a system message comes right behind a cut, in tokens",
        "The cut is made before it, though an answer follows.",
        [ask("a"), *(say("b") for _ in range(5)), system(""), result("a", "c")],
        {"max_tokens": 5, "token_counter": letters_of, "trim_to": 0.8},
        [6, 0, 3, 4, 5, 7],
    ),
    Corner(
        "trim_to where a system message makes it too much",
        "The cut is made right behind it, neither earlier nor later.",
        [ask("aa"), say("bb"), ask("c"), ask("d"), system("ssss"), ask("e")],
        {"max_tokens": 8, "token_counter": letters_of, "trim_to": 0.5},
        [4, 3, 5],
    ),
    Corner(
        "trim_to with a system message that just fits",
        "A system message is counted once.",
        [system("ss"), ask("aa"), say("bb")],
        {"max_tokens": 6, "token_counter": letters_of, "trim_to": 0.5},
        [0, 1, 2],
    ),
    Corner(
        "trim_to with a system message that is one too many",
        "A system message is counted in full.",
        [system("ss"), ask("aa"), say("bb"), ask("c")],
        {"max_tokens": 6, "token_counter": letters_of, "trim_to": 0.5},
        [0, 3],
    ),
    Corner(
        "a step with a system message in it that just fits",
        "A system message in the newest step is not counted in messages.",
        [ask(), say(), call("a"), system(), result("a")],
        {"max_messages": 3, "overflow": "error"},
        [3, 0, 2, 4],
    ),
    Corner(
        "a step that just fits, in tokens",
        "A newest step that is all the budget does not overflow.",
        [ask("a"), say("bb"), say("cc")],
        {"max_tokens": 3, "token_counter": letters_of, "overflow": "error"},
        [0, 2],
    ),
    Corner(
        "trim_to of one",
        "A share of one is the strict rule.",
        _chat(8),
        {"max_messages": 10, "trim_to": 1},
        list(range(6, 16)),
    ),
]

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
    Corner(
        f"refused: {name}",
        f"Options with {name} are refused.",
        [ask()],
        options,
        raises=errors,
    )
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
