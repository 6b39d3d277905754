"""The shape of a history: who speaks, at what length, and which result answers which call.

A bug report needs no more than that, and nothing that was said stands in it.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

from langchain_core.messages import BaseMessage, messages_to_dict

from langchain_mentor_reducer.calls import ANSWERS, CALLS

_WORDS: Final = (
    "the quiet harbor keeps seven lamps burning while grain barges wait for morning tide "
)

_AS_THEY_ARE: Final = {"type", "role", "status"}
_IDS: Final = {"id", "tool_call_id", *CALLS.values(), *ANSWERS.values()}
_ARGUMENTS: Final = {"args", "input", "arguments"}
_KEPT: Final = {
    *{"data", "content", "text", "value", "name", "tool_calls", "invalid_tool_calls"},
    *{"additional_kwargs", "function_call", "tool_outputs"},
    *_AS_THEY_ARE,
    *_IDS,
    *_ARGUMENTS,
}
"""What is kept of messages and blocks, if only as filler; all else is left out."""


def shape(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """Return messages without their contents, as `messages_from_dict` reads them.

    ```python
    from langchain_core.messages import HumanMessage
    from langchain_mentor_reducer.shape import shape

    [message] = shape([HumanMessage("My card is 1234.", id="a", name="Ada")])
    assert message["data"]["content"] == "the quiet harbor"
    assert message["data"]["name"] == "tool_1"
    ```

    Texts become filler of the same length, ids `call_1`, `call_2` and so on, names `tool_1`.
    The ids of the messages themselves are left out.
    """
    # An empty id or name stays empty.
    ids: dict[str, str] = defaultdict(lambda: f"call_{len(ids)}", {"": ""})
    names: dict[str, str] = defaultdict(lambda: f"tool_{len(names)}", {"": ""})

    def bare(key: str, value: Any) -> Any:
        if key in _ARGUMENTS and isinstance(value, dict):
            return {"text": filler(max(0, len(str(value)) - len(str({"text": ""}))))}
        if isinstance(value, dict):
            return {inner: bare(inner, value[inner]) for inner in value if inner in _KEPT}
        if isinstance(value, list):
            return [bare(key, item) for item in value]
        if not isinstance(value, str) or key in _AS_THEY_ARE:
            return value if isinstance(value, str) else None
        if key in _IDS or key == "name":
            return (names if key == "name" else ids)[value]
        return filler(len(value))

    dumped = messages_to_dict(messages)
    for message in dumped:
        message["data"]["id"] = None
    return [bare("", message) for message in dumped]


def filler(length: int) -> str:
    """Return a text of so many characters."""
    return (_WORDS * (length // len(_WORDS) + 1))[:length]
