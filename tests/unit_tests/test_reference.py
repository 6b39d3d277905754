"""The second reading of the rule gives every corner of the table, as the first does."""

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, convert_to_messages

from tests.unit_tests.corners import CORNERS, LIST_COUNTERS, Corner, ask, blocks, say
from tests.unit_tests.reference import reference


def _reduce(messages: Sequence[BaseMessage], options: dict[str, Any]) -> list[BaseMessage]:
    """Call the reference with options by the names of the package."""
    options = dict(options)
    counter = options.pop("token_counter", None)
    return reference(messages, count=LIST_COUNTERS[counter] if counter else None, **options)


@pytest.mark.parametrize("corner", CORNERS, ids=lambda corner: corner.name)
def test_corner(corner: Corner) -> None:
    """Every promise and every corner comes out as the table says."""
    if corner.raises:
        with pytest.raises(corner.raises):
            _reduce(corner.messages, corner.options)
        return
    before = convert_to_messages(corner.messages)
    reduced = _reduce(before if corner.core else corner.messages, corner.options)
    assert len(reduced) == len(corner.keep)
    for message, position in zip(reduced, corner.keep, strict=True):
        if position in corner.changed:
            expected = before[position].model_copy(update={"content": corner.changed[position]})
            assert message == expected
            assert message is not before[position]
        elif corner.core:
            assert message is before[position]
        else:
            assert message == before[position]


def test_corner_names_are_unique() -> None:
    """No two corners share a name, so a report names one."""
    names = [corner.name for corner in CORNERS]
    assert len(names) == len(set(names))


def test_reported_gap_late_approval() -> None:
    """An approval in a later turn than its request never stays without it."""
    request = AIMessage([{"type": "mcp_approval_request", "id": "p"}])
    response = blocks({"type": "mcp_approval_response", "approval_request_id": "p"})
    history = [ask(), request, ask(), say(), ask(), say(), response]
    assert reference(history, max_messages=4) == [history[4], history[5]]
    assert reference(history, max_messages=7) == history
