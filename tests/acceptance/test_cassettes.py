"""Requests that real providers answered: our reading of the rules fits them, whole and reduced."""

import pytest

from tests.acceptance import cassettes
from tests.acceptance.cassettes import FORMS, READERS, Recorded

pytestmark = pytest.mark.skipif(
    not cassettes.CASSETTES.exists(),
    reason="the recorded requests (../shared/data/cassettes.jsonl.gz) are not beside the project",
)


@pytest.mark.parametrize("form", FORMS)
def test_our_reading_fits_what_was_recorded(recorded: dict[str, Recorded], form: str) -> None:
    """An answered request is fine by our rules, and one refused for its order is broken."""
    result = recorded[form]
    assert not result.misjudged
    assert result.answered > 100
    assert result.tolerated.total() <= 1


def test_order_refusals_are_there(recorded: dict[str, Recorded]) -> None:
    """There are recorded order refusals, so that our rules could have called one fine."""
    assert sum(result.order_refused for result in recorded.values()) == 4


@pytest.mark.parametrize("form", READERS)
def test_reduced_requests(recorded: dict[str, Recorded], form: str) -> None:
    """Read back, reduced and sent again, none is refused for its order."""
    result = recorded[form]
    assert not result.unreadable
    assert not result.refused
    assert result.reductions > 500
