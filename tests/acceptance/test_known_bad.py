"""The validators tell good from bad: without that their verdict on the reducer is worth nothing."""

import pytest

from tests.acceptance.known_bad import CASES, Case
from tests.acceptance.validators import VALIDATORS, Validator


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_who_refuses(case: Case) -> None:
    """A known history is refused by exactly those that should refuse it."""
    refused_by = {v.name for v in VALIDATORS if v.refuses(case.messages) is not None}
    assert refused_by == case.refused_by


@pytest.mark.parametrize("validator", VALIDATORS, ids=[f"{v.name}, {v.label}" for v in VALIDATORS])
def test_each_can_refuse(validator: Validator) -> None:
    """Every validator refuses at least three of the known bad histories."""
    assert sum(validator.name in case.refused_by for case in CASES) >= 3
