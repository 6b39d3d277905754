"""The second reading of the rule gives every corner of the table, as the first does."""

import pytest

from tests.unit_tests.corners import CORNERS, Corner
from tests.unit_tests.test_rule import second_reading


@pytest.mark.parametrize("corner", CORNERS, ids=lambda corner: corner.name)
def test_corner(corner: Corner) -> None:
    """Every promise and every corner comes out as the table says."""
    corner.check(second_reading)


def test_corner_names_are_unique() -> None:
    """No two corners share a name, so a report names one."""
    names = [corner.name for corner in CORNERS]
    assert len(names) == len(set(names))
