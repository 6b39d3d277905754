"""The corners that are counted apart are real, small, and excuse nothing else."""

import pytest

from langchain_mentor_reducer import reduce_messages
from tests.acceptance import shapes
from tests.acceptance.corners import CORNERS, corner_of
from tests.acceptance.rivals import sliced
from tests.acceptance.validators import VALIDATORS, Validator

EXAMPLES = [
    ("no question", "A>1,2 T<1 T<2", 1, {"OpenAI Chat", "OpenAI Responses", "Mistral"}),
    (
        "a call left open",
        "S U A>1 T<1 A U A>1 U",
        3,
        {"LangGraph, ReAct agent", "OpenAI Responses", "Gemini"},
    ),
    (
        "a result of no call",
        "S U A>1 T<1 T<2",
        2,
        {"Mistral, template v13", "gpt-oss-120b, template"},
    ),
    (
        "system messages further down alone",
        "U A U S S",
        2,
        {"Anthropic", "Anthropic, by turnsafe", "Anthropic, by toolrepair"},
    ),
]


def test_each_corner_has_an_example() -> None:
    """There is an example for every corner, and none for anything else."""
    assert [name for name, *_ in EXAMPLES] == [corner.name for corner in CORNERS]


@pytest.mark.parametrize(
    ("corner", "shape", "budget", "expected"), EXAMPLES, ids=[name for name, *_ in EXAMPLES]
)
def test_corner(corner: str, shape: str, budget: int, expected: set[str]) -> None:
    """These validators accept the input and refuse the output, and the corner says why."""
    before = shapes.messages(shape)
    after = reduce_messages(before, max_messages=budget)
    refused_by = {v.name for v in VALIDATORS if not v.refuses(before) and v.refuses(after)}
    assert expected <= refused_by
    for name in refused_by:
        found = corner_of(name, before, after)
        assert found is not None
        assert found.name == corner


@pytest.mark.parametrize("validator", VALIDATORS, ids=[v.name for v in VALIDATORS])
def test_a_slice_stands_in_no_corner(validator: Validator) -> None:
    """The usual damage, results without their call and calls without results, is not excused."""
    history = shapes.messages("S U A>1,2 T<1 T<2 A U A>3,4 T<3 T<4 A U")
    for budget in range(1, 10):
        assert corner_of(validator.name, history, sliced(history, budget)) is None
    assert corner_of(validator.name, history, [*history[:2], *history[4:]]) is None
    assert corner_of(validator.name, history, history[:4]) is None
