"""Turns and steps: where a conversation may be cut.

A turn is a question and all that follows it, up to the next question; what stands before
the first question is the preamble, an oldest turn without a question. A step is an
`AIMessage` and what follows it inside a turn, up to the next `AIMessage`. Nothing in here
knows of budgets.

Histories are long and mostly dropped, so the searches read types at C speed and look
into a message only where its type asks for it.
"""

from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Final

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


class Role(Enum):
    """What a message is to the rule."""

    SYSTEM = auto()
    USER = auto()
    AI = auto()
    RESULT = auto()
    """A `ToolMessage` or a `FunctionMessage`."""
    OTHER = auto()
    """Any other message: it lives and dies with its turn."""
    CHAT = auto()
    """A `ChatMessage`: its `role` field decides."""
    NO_MESSAGE = auto()
    """What may not stand in a history."""


class _Roles(dict[type, Role]):
    """The role of each class, found once: `isinstance` on a message is slow."""

    def __missing__(self, cls: type) -> Role:
        bases = (
            (SystemMessage, Role.SYSTEM),
            (HumanMessage, Role.USER),
            (AIMessage, Role.AI),
            (ToolMessage, Role.RESULT),
            (FunctionMessage, Role.RESULT),
            (ChatMessage, Role.CHAT),
            (RemoveMessage, Role.NO_MESSAGE),
            (BaseMessage, Role.OTHER),
        )
        role = next((r for base, r in bases if issubclass(cls, base)), Role.NO_MESSAGE)
        if role not in {Role.SYSTEM, Role.CHAT, Role.NO_MESSAGE}:
            _NEVER_SYSTEM.add(cls)
        if role not in {Role.USER, Role.CHAT, Role.NO_MESSAGE}:
            _NEVER_USER.add(cls)
        if role not in {Role.AI, Role.NO_MESSAGE}:
            _NEVER_AI.add(cls)
        self[cls] = role
        return role


_NEVER_SYSTEM: Final[set[type]] = set()
_NEVER_USER: Final[set[type]] = set()
_NEVER_AI: Final[set[type]] = set()
ROLES: Final = _Roles()
"""The role of a class; `role_of` gives that of a message."""

_CHAT_ROLES: Final = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "human": Role.USER,
}


def role_of(message: BaseMessage) -> Role:
    """Return what `message` is to the rule.

    Raises:
        ValueError: It is a `RemoveMessage`.
        NotAMessageError: It is no message at all.
    """
    role = ROLES[type(message)]
    if role is Role.CHAT:
        return _CHAT_ROLES.get(message.role, Role.OTHER)  # type: ignore[attr-defined]
    if role is Role.NO_MESSAGE:
        _refuse(message)
    return role


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
    return (
        role_of(message) is Role.USER
        and not only_answers(message)
        and (starts_turn is None or starts_turn(message))
    )


def is_answer(message: BaseMessage) -> bool:
    """Tell whether `message` does nothing but answer calls."""
    role = role_of(message)
    return role is Role.RESULT or (role is Role.USER and only_answers(message))


def first_system(messages: Sequence[BaseMessage]) -> int | None:
    """Find the system message: the first one, wherever it stands."""
    if messages and is_system(messages[0]):
        return 0
    if _NEVER_SYSTEM.issuperset(map(type, messages)):
        return None
    return next((i for i, m in enumerate(messages) if is_system(m)), None)


def newest_question(
    messages: Sequence[BaseMessage], start: int, end: int, starts_turn: StartsTurn | None
) -> int | None:
    """Find the last question in `messages[start:end]`."""
    return _last(
        messages, start, end, _NEVER_USER, lambda message: is_question(message, starts_turn)
    )


def newest_step(messages: Sequence[BaseMessage], start: int, end: int) -> int | None:
    """Find where the last step of `messages[start:end]` begins."""
    return _last(messages, start, end, _NEVER_AI, lambda message: role_of(message) is Role.AI)


def _last(
    messages: Sequence[BaseMessage],
    start: int,
    end: int,
    never: set[type],
    matches: Callable[[BaseMessage], bool],
) -> int | None:
    """Find the last match; blocks of types that never match are passed over whole.

    The blocks double, so a short search stays short and a long one runs at C speed.
    """
    size = 8
    while end > start:
        low = max(start, end - size)
        if size == 8 or not never.issuperset(map(type, messages[low:end])):
            for i in range(end - 1, low - 1, -1):
                if type(messages[i]) not in never and matches(messages[i]):
                    return i
        end = low
        size = min(2 * size, 4096)
    return None


def is_system(message: BaseMessage) -> bool:
    """Tell whether `message` is a system message."""
    # What the walk may never meet is none of this search's business, so nothing is refused.
    role = ROLES[type(message)]
    return role is Role.SYSTEM or (
        role is Role.CHAT and _CHAT_ROLES.get(message.role) is Role.SYSTEM  # type: ignore[attr-defined]
    )


def _refuse(message: object) -> None:
    if isinstance(message, RemoveMessage):
        msg = (
            "A RemoveMessage is an update of a state, not part of a history. Apply it first, "
            "with `add_messages(history, updates)`, and reduce what that returns."
        )
        raise ValueError(msg)  # noqa: TRY004
    msg = f"Expected a message, got {type(message).__name__}."
    raise NotAMessageError(msg)
