"""The rule read a second time: plain, slow, and apart from the package.

Nothing here is imported from `langchain_mentor_reducer`, and nothing here is fast. Every candidate
is tried, every message is looked at, and a window is simply the list of the positions it holds.
Where the package and this page disagree, one of them has misread the rule.

The rule:

1. The first system message leads the output and is not counted in messages. It is counted in
   tokens.
2. A turn starts at a question, a user message that does more than answer calls. What precedes the
   first question is the oldest turn.
3. Turns are kept whole, newest first, while they fit every budget. The first that does not fit
   goes with all that is older.
4. A newest turn that is over a budget keeps its question and its longest run of most recent
   messages that fits.
5. An answer goes with the call it belongs to: the nearest earlier message that made a call with
   its id.
6. With `trim_to` the window is found by folding over the history from its start.

Readings, where the rule can be read in more than one way:

- Pairing is by id alone: a tool result and an approval with the same id belong to the same nearest
  earlier message, whatever kind of call it made there. Names of legacy function calls are ids of a
  kind of their own.
- Only an `AIMessage` makes calls or begins a step. A `ChatMessage` of any role does neither, and
  answers nothing unless it is a user message with answer blocks.
- A call that comes after its answer is no call of it: such an answer belongs to nothing and is
  left alone.
- A user message of answer blocks alone is an answer even if none of the blocks has an id. One
  plain string among the items, even an empty one, makes it a question.
- A system message that stands further down leads the output even when everything fits: nothing is
  removed, but it moves.
- The preamble counts as a turn under `max_turns`.
- Whole turns are counted as they stand, in tokens too, even if some of their answers are about to
  be stranded.
- A cut newest turn is counted in tokens as what can be sent: its question and its tail without the
  stranded answers. In messages the tail is counted as it stands.
- Parts without a message are not counted: a counter that answers 3 for an empty list adds nothing.
- A newest turn that does not fit as a whole may still come out whole: its question and its tail
  are counted apart, and without the stranded answers. The older turns are gone all the same.
- A newest turn overflows when its question with its newest step, or whichever of the two it has,
  is over a budget in full. A question alone over `max_tokens` overflows. A system message alone
  over `max_tokens` does not.
- Without a question `"keep"` still keeps the newest step whole, and `"error"` still raises.
- `"keep"` keeps the newest step and nothing else behind the question. With no step the question
  stands alone.
- Scaled budgets decide which older turns stay and how long a cut turn's tail is, an overflowing
  one's too. Whether the newest turn is cut, and whether it overflows, is decided by the budgets in
  full.
- In a fold, `overflow="error"` acts as `"trim"` at every point but the last.
- In a fold, what is held is counted as it stands, with the answers that lost their call. They go
  in the end, from the window that is returned.
- In a fold, a tail that a cut leaves before the end does not begin with answers: their call stood
  right before them.
- In a fold, the points lie before every message that is not an answer, system messages among them.
  A `ChatMessage` with role `tool` is not an answer.
- A `RemoveMessage` is refused wherever it stands, since this reading walks over everything.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import dropwhile
from typing import Any, Literal, NamedTuple

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
from langchain_core.messages.utils import count_tokens_approximately

Overflow = Literal["trim", "keep", "error"]
Count = Callable[[Sequence[BaseMessage]], int]


class Key(NamedTuple):
    """What a call and its answer have in common."""

    kind: Literal["id", "function"]
    value: str


CALL_BLOCKS = {
    "tool_call": "id",
    "tool_call_chunk": "id",
    "invalid_tool_call": "id",
    "tool_use": "id",
    "function_call": "call_id",
    "custom_tool_call": "call_id",
    "computer_call": "call_id",
    "apply_patch_call": "call_id",
    "tool_search_call": "call_id",
    "mcp_approval_request": "id",
}
ANSWER_BLOCKS = {
    "tool_result": "tool_use_id",
    "apply_patch_call_output": "call_id",
    "tool_search_output": "call_id",
    "mcp_approval_response": "approval_request_id",
}


# --- Reading one message -------------------------------------------------------------------------


def is_system(message: BaseMessage) -> bool:
    """Whether the message can be the system message."""
    if isinstance(message, ChatMessage):
        return message.role in {"system", "developer"}
    return isinstance(message, SystemMessage)


def is_user(message: BaseMessage) -> bool:
    """Whether the message comes from the user's side."""
    if isinstance(message, ChatMessage):
        return message.role in {"user", "human"}
    return isinstance(message, HumanMessage)


def is_answer(message: BaseMessage) -> bool:
    """Whether the message does nothing but answer calls."""
    if isinstance(message, ToolMessage | FunctionMessage):
        return True
    if not is_user(message) or not isinstance(message.content, list) or not message.content:
        return False
    return all(_is_block_of(ANSWER_BLOCKS, item) for item in message.content)


def calls_of(message: BaseMessage) -> set[Key]:
    """The calls that the message makes, those without an id left out."""
    if not isinstance(message, AIMessage):
        return set()
    ids: list[object] = [
        call.get("id") for call in [*message.tool_calls, *message.invalid_tool_calls]
    ]
    items: list[Any] = list(message.content) if isinstance(message.content, list) else []
    outputs = message.additional_kwargs.get("tool_outputs")
    items += outputs if isinstance(outputs, list) else []
    ids += [_id_in(CALL_BLOCKS, item) for item in items]
    calls = {Key("id", value) for value in ids if isinstance(value, str) and value}
    legacy = message.additional_kwargs.get("function_call")
    name = legacy.get("name") if isinstance(legacy, dict) else None
    return calls | ({Key("function", name)} if isinstance(name, str) and name else set())


def answers_of(message: BaseMessage) -> list[Key | None]:
    """What the message answers, None being nothing: for a user message item by item."""
    if isinstance(message, ToolMessage):
        return [Key("id", message.tool_call_id) if message.tool_call_id else None]
    if isinstance(message, FunctionMessage):
        return [Key("function", message.name) if message.name else None]
    if not is_user(message) or not isinstance(message.content, list):
        return []
    ids = [_id_in(ANSWER_BLOCKS, item) for item in message.content]
    return [Key("id", value) if isinstance(value, str) and value else None for value in ids]


def _is_block_of(table: Mapping[str, str], item: object) -> bool:
    kind = _unwrapped(item).get("type")
    return isinstance(kind, str) and kind in table


def _id_in(table: Mapping[str, str], item: object) -> object:
    if not _is_block_of(table, item):
        return None
    block = _unwrapped(item)
    return block.get(table[block["type"]])


def _unwrapped(item: object) -> dict[str, Any]:
    if isinstance(item, dict) and item.get("type") == "non_standard":
        item = item.get("value")
    return item if isinstance(item, dict) else {}


def pairs(messages: Sequence[BaseMessage]) -> list[list[int | None]]:
    """For each entry of `answers_of` the position of the call it belongs to, if any."""
    latest: dict[Key, int] = {}
    found: list[list[int | None]] = []
    for position, message in enumerate(messages):
        found.append([latest.get(key) if key else None for key in answers_of(message)])
        latest |= dict.fromkeys(calls_of(message), position)
    return found


# --- The rule ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Budgets:
    messages: int | None
    turns: int | None
    tokens: int | None

    def scaled(self, share: float) -> _Budgets:
        def scale(budget: int | None) -> int | None:
            return None if budget is None else max(1, math.floor(budget * share + 1e-9))

        return _Budgets(scale(self.messages), scale(self.turns), scale(self.tokens))


class _Reader:
    """The rule over the positions of one history; a window is a list of positions."""

    def __init__(
        self,
        history: Sequence[BaseMessage],
        count: Count,
        starts_turn: Callable[[BaseMessage], bool] | None,
    ) -> None:
        self.history = history
        self.count = count
        self.starts_turn = starts_turn
        self.calls = pairs(history)
        self.folding = False
        self.looks_on = False

    def question(self, position: int) -> bool:
        message = self.history[position]
        if not is_user(message) or is_answer(message):
            return False
        return self.starts_turn is None or self.starts_turn(message)

    def system(self, window: list[int]) -> list[int]:
        """The first system message of the window, as a list of none or one."""
        return [position for position in window if is_system(self.history[position])][:1]

    def turns(self, window: list[int]) -> list[list[int]]:
        """The window without its system message, split before every question."""
        turns: list[list[int]] = []
        system = self.system(window)
        for position in window:
            if position in system:
                continue
            if not turns or self.question(position):
                turns.append([])
            turns[-1].append(position)
        return turns

    def standing(self, position: int, window: list[int]) -> BaseMessage | None:
        """The message less the answers whose call is not in the window; None if none is left."""
        message = self.history[position]
        stays = [call is None or call in window for call in self.calls[position]]
        if all(stays):
            return message
        if not is_user(message) or not any(stays):
            return None
        content = [item for item, stay in zip(message.content, stays, strict=True) if stay]
        return message.model_copy(update={"content": content})

    def without_stranded(self, window: list[int]) -> list[int]:
        return [position for position in window if self.standing(position, window) is not None]

    def fits(
        self, budgets: _Budgets, parts: list[list[int]], turns: int, window: list[int]
    ) -> bool:
        """Whether the parts, each counted as it stands in the window, fit every budget."""
        if budgets.messages is not None and sum(map(len, parts)) > budgets.messages:
            return False
        if budgets.turns is not None and turns > budgets.turns:
            return False
        if budgets.tokens is None:
            return True
        tokens = 0
        for part in [self.system(window), *parts]:
            standing = [
                self.history[position] if self.folding else self.standing(position, window)
                for position in part
            ]
            sent = [message for message in standing if message is not None]
            tokens += self.count(sent) if sent else 0
        return tokens <= budgets.tokens

    def over(self, budgets: _Budgets, window: list[int]) -> bool:
        turns = self.turns(window)
        return bool(turns) and not self.fits(budgets, turns, len(turns), window)

    def reduce(
        self, held: list[int], full: _Budgets, aim: _Budgets, overflow: Overflow
    ) -> list[int]:
        """The rule over what is held; `aim` is `full`, or `full` scaled."""
        turns = self.turns(held)
        if not turns:
            return held
        if self.fits(full, turns[-1:], 1, held):
            kept = turns[-1:]
            for older in reversed(turns[:-1]):
                if not self.fits(aim, [older, *kept], len(kept) + 1, held):
                    break
                kept = [older, *kept]
            rest = [position for turn in kept for position in turn]
        else:
            rest = self.cut(turns[-1], self.system(held), full, aim, overflow)
        window = [*self.system(held), *rest]
        return window if self.folding else self.without_stranded(window)

    def cut(
        self, turn: list[int], system: list[int], full: _Budgets, aim: _Budgets, overflow: Overflow
    ) -> list[int]:
        """The question of a turn that is over a budget, and its most recent messages."""
        question = turn[:1] if self.question(turn[0]) else []
        behind = turn[len(question) :]
        answering = [
            position for position in behind if isinstance(self.history[position], AIMessage)
        ]
        step = behind[behind.index(answering[-1]) :] if answering else []

        def fits(budgets: _Budgets, tail: list[int]) -> bool:
            return self.fits(budgets, [question, tail], 1, [*system, *question, *tail])

        overflows = bool(question or step) and not fits(full, step)
        if overflows and overflow == "error":
            msg = f"The newest step ({len(step)} messages) does not fit beside its question."
            raise ValueError(msg)
        if overflows and overflow == "keep":
            return [*question, *step]
        runs = [behind[start:] for start in range(len(behind) + 1)]
        tail = next((run for run in runs if fits(aim, run)), [])
        if not overflows and len(tail) < len(step):
            tail = step
        if self.looks_on:
            tail = list(dropwhile(lambda position: is_answer(self.history[position]), tail))
        return [*question, *tail]

    def fold(self, full: _Budgets, share: float, overflow: Overflow) -> list[int]:
        """What a trimmer with memory would hold at the end."""
        end = len(self.history)
        points = [
            position for position, message in enumerate(self.history) if not is_answer(message)
        ]
        held: list[int] = []
        taken = 0
        self.folding = True
        for point in [*points, end]:
            held = [*held, *range(taken, point)]
            taken = point
            if self.over(full, held):
                self.looks_on = point < end
                here: Overflow = "trim" if overflow == "error" and self.looks_on else overflow
                held = self.reduce(held, full, full.scaled(share), here)
        return self.without_stranded(held)


def reference(
    messages: Sequence[BaseMessage],
    *,
    max_messages: int | None = None,
    max_turns: int | None = None,
    max_tokens: int | None = None,
    count: Count | None = None,
    overflow: Overflow = "trim",
    starts_turn: Callable[[BaseMessage], bool] | None = None,
    trim_to: float = 1.0,
) -> list[BaseMessage]:
    """Reduce a history by the rule, slowly.

    Args:
        messages: The history, oldest first.
        max_messages: How many messages may stay, the system message aside.
        max_turns: How many turns may stay.
        max_tokens: How many tokens may stay, the system message among them.
        count: The tokens of a list, approximate when left out. A fold asks one by one.
        overflow: What happens when the newest step does not fit beside its question.
        starts_turn: Asked about every message that would start a turn.
        trim_to: The share of each budget that a cut goes down to.

    Returns:
        The window.

    Raises:
        TypeError: If `messages` is no list.
        ValueError: If a budget is wrong or all are missing, if a `RemoveMessage` is among the
            messages, or if the newest step does not fit and `overflow` is `"error"`.
    """
    _check_options(max_messages, max_turns, max_tokens, trim_to)
    if isinstance(messages, str | Mapping | BaseMessage):
        msg = f"Pass a list of messages, not a {type(messages).__name__}."
        raise TypeError(msg)
    history = convert_to_messages(messages)
    if any(isinstance(message, RemoveMessage) for message in history):
        msg = "Apply every RemoveMessage before reducing."
        raise ValueError(msg)

    count_list: Count = count or count_tokens_approximately

    def count_each(some: Sequence[BaseMessage]) -> int:
        return sum(count_list([message]) for message in some)

    full = _Budgets(max_messages, max_turns, max_tokens)
    reader = _Reader(history, count_list if trim_to == 1 else count_each, starts_turn)
    if trim_to == 1:
        window = reader.reduce(list(range(len(history))), full, full, overflow)
    else:
        window = reader.fold(full, trim_to, overflow)
    system = reader.system(window)
    ordered = system + [position for position in window if position not in system]
    standing = [reader.standing(position, window) for position in ordered]
    return [message for message in standing if message is not None]


def _check_options(*budgets_and_share: object) -> None:
    *budgets, share = budgets_and_share
    given = [budget for budget in budgets if budget is not None]
    if not given or any(type(budget) is not int or budget < 1 for budget in given):
        msg = "Set at least one budget, each a whole number of at least 1."
        raise ValueError(msg)
    if not isinstance(share, int | float) or not 0 < share <= 1:
        msg = "Set trim_to to a share over 0, and 1 at most."
        raise ValueError(msg)


# --- What must hold of any reducer, whatever its rule --------------------------------------------


def unpaired_answers(messages: Sequence[BaseMessage]) -> list[str]:
    """The answers, single blocks too, whose id no earlier message made a call with."""
    lone: list[str] = []
    for message, calls in zip(messages, pairs(messages), strict=True):
        carried = message.content if is_user(message) else [message]
        keys = answers_of(message)
        lone += [
            f"{key.value}: {item!r}"
            for item, key, call in zip(carried if keys else [], keys, calls, strict=True)
            if key and call is None
        ]
    return lone


def unanswered_calls(messages: Sequence[BaseMessage]) -> list[str]:
    """The calls that no later answer belongs to."""
    answered = {
        (call, key)
        for message, calls in zip(messages, pairs(messages), strict=True)
        for key, call in zip(answers_of(message), calls, strict=True)
    }
    return [
        f"{key.value}: {message!r}"
        for position, message in enumerate(messages)
        for key in sorted(calls_of(message))
        if (position, key) not in answered
    ]


def strands_no_answer(before: Sequence[BaseMessage], after: Sequence[BaseMessage]) -> bool:
    """Whether every answer without a call in `after` was without one in `before`."""
    return not Counter(unpaired_answers(after)) - Counter(unpaired_answers(before))


def opens_no_call(before: Sequence[BaseMessage], after: Sequence[BaseMessage]) -> bool:
    """Whether every call without an answer in `after` was without one in `before`."""
    return not Counter(unanswered_calls(after)) - Counter(unanswered_calls(before))


def passes_through(before: Sequence[BaseMessage], after: Sequence[BaseMessage]) -> bool:
    """Whether `after` holds objects of `before` in their order, none twice.

    The first system message may lead. A user message may be a copy without some answer blocks.
    """
    system = next((message for message in before if is_system(message)), None)
    rest = list(after)
    left = list(before)
    if system is not None:
        if not rest or rest.pop(0) is not system:
            return False
        del left[next(place for place, message in enumerate(left) if message is system)]
    remaining = iter(left)
    return all(
        any(_same_but_answers(message, candidate) for candidate in remaining) for message in rest
    )


def _same_but_answers(after: BaseMessage, before: BaseMessage) -> bool:
    if after is before:
        return True
    if (
        not is_user(before)
        or type(after) is not type(before)
        or not isinstance(after.content, list)
    ):
        return False
    if after.model_copy(update={"content": ""}) != before.model_copy(update={"content": ""}):
        return False
    kept = Counter(map(repr, after.content))
    lost = Counter(map(repr, before.content)) - kept
    answers = Counter(repr(item) for item in before.content if _is_block_of(ANSWER_BLOCKS, item))
    own = iter(map(repr, before.content))
    return (
        bool(kept)
        and bool(lost)
        and not lost - answers
        and all(item in own for item in map(repr, after.content))
    )


def newest_question(
    messages: Sequence[BaseMessage], starts_turn: Callable[[BaseMessage], bool] | None = None
) -> BaseMessage | None:
    """The question that the newest turn starts at, None when no message is one."""
    for message in reversed(messages):
        if (
            is_user(message)
            and not is_answer(message)
            and (starts_turn is None or starts_turn(message))
        ):
            return message
    return None
