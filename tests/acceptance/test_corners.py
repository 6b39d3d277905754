"""The corners that are counted apart are real, small, and excuse nothing else."""

import pytest

from langchain_mentor_reducer import reduce_messages
from tests.acceptance import shapes
from tests.acceptance.corners import CORNERS, corner_of
from tests.acceptance.rivals import sliced
from tests.acceptance.validators import VALIDATORS, Validator

EXAMPLES = {
    "no question": ("A>1,2 T<1 T<2", 1),
    "a call left open": ("S U A>1 T<1 A U A>1 U", 3),
    "a result of no call": ("S U A>1 T<1 T<2", 2),
    "system messages further down alone": ("U A U S S", 2),
}
"""A shape and a budget for every corner, and for nothing else."""


@pytest.mark.parametrize("name", sorted(EXAMPLES.keys() | {corner.name for corner in CORNERS}))
def test_corner(name: str) -> None:
    """The validators of a corner accept the input and refuse the output, and it says why."""
    (corner,) = (corner for corner in CORNERS if corner.name == name)
    shape, budget = EXAMPLES[name]
    before = shapes.messages(shape)
    after = reduce_messages(before, max_messages=budget)
    refused_by = {v.name for v in VALIDATORS if not v.refuses(before) and v.refuses(after)}
    expected = corner.validators or {"OpenAI Chat", "OpenAI Responses", "Mistral"}
    assert refused_by >= expected - {"Anthropic Messages"}  # which are recorded requests
    assert {corner_of(refusing, before, after) for refusing in refused_by} == {corner}


@pytest.mark.parametrize("validator", VALIDATORS, ids=[v.name for v in VALIDATORS])
def test_a_slice_stands_in_no_corner(validator: Validator) -> None:
    """The usual damage, results without their call and calls without results, is not excused."""
    history = shapes.messages("S U A>1,2 T<1 T<2 A U A>3,4 T<3 T<4 A U")
    for budget in range(1, 10):
        assert corner_of(validator.name, history, sliced(history, budget)) is None
    assert corner_of(validator.name, history, [*history[:2], *history[4:]]) is None
    assert corner_of(validator.name, history, history[:4]) is None
