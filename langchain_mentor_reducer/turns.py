"""Turns and steps: where a conversation may be cut.

A turn is a question and all that follows it, up to the next question; what stands before
the first question is the preamble, an oldest turn without a question. A step is an
`AIMessage` and what follows it inside a turn, up to the next `AIMessage`. Nothing in here
knows of budgets.

Histories are long and mostly dropped, so the searches read types at C speed and look
into a message only where its type asks for it.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal

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

from langchain_mentor_reducer.calls import only_answers

StartsTurn = Callable[[BaseMessage], bool]
"""A predicate on a user message that would start a turn; False keeps it in its turn."""


class NotAMessageError(TypeError):
    """Something in the list is not a `BaseMessage` yet; faces convert and try again."""


Role = Literal["system", "user", "ai", "result", "other", "chat", "deletion", "none"]
"""What a message is to the rule. A `"result"` is a `ToolMessage` or a `FunctionMessage`; a
`"chat"` says itself, in its `role` field, what it is; an `"other"` lives and dies with its
turn; a `"deletion"` may not stand in a history, and a `"none"` is no message yet."""


_BASES: Final[tuple[tuple[type, Role], ...]] = (
    (SystemMessage, "system"),
    (HumanMessage, "user"),
    (AIMessage, "ai"),
    (ToolMessage, "result"),
    (FunctionMessage, "result"),
    (ChatMessage, "chat"),
    (RemoveMessage, "deletion"),
    (BaseMessage, "other"),
    (object, "none"),
)


class _Roles(dict[type, Role]):
    """The role of each class, found once: `isinstance` on a message is slow."""

    def __missing__(self, cls: type) -> Role:
        self[cls] = next(role for base, role in _BASES if issubclass(cls, base))
        return self[cls]


ROLES: Final = _Roles()
"""The role of a class; `role_of` gives that of a message."""

_UNSURE: Final[tuple[Role, ...]] = ("chat", "deletion", "none")
"""Roles of classes whose messages have another, or are refused."""

_CHAT_ROLES: Final[dict[str, Role]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
}


def role_of(message: BaseMessage) -> Role:
    """Return what `message` is to the rule.

    Raises:
        ValueError: It is a `RemoveMessage`.
        NotAMessageError: It is no message at all.
    """
    role = ROLES[type(message)]
    if role in {"deletion", "none"}:
        _refuse(message)
    return _role_of_chat(message) if role == "chat" else role


def is_question(message: BaseMessage, starts_turn: StartsTurn | None = None) -> bool:
    """Tell whether `message` starts a turn.

    ```python
    from langchain_core.messages import HumanMessage
    from langchain_mentor_reducer.turns import is_question

    approval = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}
    assert is_question(HumanMessage("How tall is the tower?"))
    assert not is_question(HumanMessage([approval]))
    ```
    """
    role = ROLES[type(message)]
    if role != "user":  # most are, and a call costs
        role = role_of(message)
    return (
        role == "user"
        and (type(message.content) is str or not only_answers(message))
        and (starts_turn is None or starts_turn(message))
    )


def is_answer(message: BaseMessage) -> bool:
    """Tell whether `message` does nothing but answer calls."""
    role = role_of(message)
    return role == "result" or (role == "user" and only_answers(message))


def first_system(messages: Sequence[BaseMessage]) -> int | None:
    """Find the system message: the first one, wherever it stands.

    Raises:
        NotAMessageError: Something that is no message may be one.
    """
    if messages and is_system(messages[0]):
        return 0
    if {"system", "chat", "none"}.isdisjoint(_roles(messages)):
        return None
    return next((i for i, m in enumerate(messages) if is_system(m)), None)


def check(messages: Sequence[BaseMessage]) -> None:
    """Refuse what may not stand in a history.

    Raises:
        ValueError: A `RemoveMessage` is among the messages.
        NotAMessageError: Something is no message at all.
    """
    if not {"deletion", "none"}.isdisjoint(_roles(messages)):
        list(map(role_of, messages))


def questions(
    messages: Sequence[BaseMessage], start: int, end: int, starts_turn: StartsTurn | None
) -> Iterator[int]:
    """Find the questions in `messages[start:end]`, newest first."""
    for i in _backwards(messages, start, end, "user"):
        if is_question(messages[i], starts_turn):
            yield i


def steps(messages: Sequence[BaseMessage], start: int, end: int) -> Iterator[int]:
    """Find where the steps of `messages[start:end]` begin, newest first."""
    for i in _backwards(messages, start, end, "ai"):
        if role_of(messages[i]) == "ai":
            yield i


def _backwards(messages: Sequence[BaseMessage], start: int, end: int, role: Role) -> Iterator[int]:
    """Go back over the messages that may have the role.

    Blocks without one are passed over whole. The blocks double, so a short search stays
    short and a long one runs at C speed.
    """
    wanted = {role, *_UNSURE}
    size = 64
    while end > start:
        low = max(start, end - size)
        if not wanted.isdisjoint(_roles(messages[low:end])):
            for i in range(end - 1, low - 1, -1):
                if ROLES[type(messages[i])] in wanted:
                    yield i
        end = low
        size = min(2 * size, 4096)


def _roles(messages: Sequence[BaseMessage]) -> set[Role]:
    """Find which roles the classes of `messages` have, at C speed."""
    return {ROLES[cls] for cls in set(map(type, messages))}


def is_system(message: BaseMessage) -> bool:
    """Tell whether `message` is a system message; a `RemoveMessage` is passed over.

    Raises:
        NotAMessageError: It is no message at all.
    """
    role = ROLES[type(message)]
    if role == "none":
        _refuse(message)
    return role == "system" or (role == "chat" and _role_of_chat(message) == "system")


def _role_of_chat(message: BaseMessage) -> Role:
    return _CHAT_ROLES.get(getattr(message, "role", ""), "other")


def _refuse(message: object) -> None:
    if isinstance(message, RemoveMessage):
        msg = (
            "A RemoveMessage is an update of a state, not part of a history. Apply it first, "
            "with `add_messages(history, updates)`, and reduce what that returns."
        )
        raise ValueError(msg)  # noqa: TRY004 - it is a message, but in the wrong place
    msg = f"Expected a message, got {type(message).__name__}."
    raise NotAMessageError(msg)
