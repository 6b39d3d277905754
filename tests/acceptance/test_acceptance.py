"""A well-formed history in, an accepted history out: for every provider, at every budget."""

import pytest

from tests.acceptance.rivals import RIVALS
from tests.acceptance.tally import Tally
from tests.acceptance.validators import VALIDATORS


@pytest.mark.parametrize("name", [validator.name for validator in VALIDATORS])
def test_accepted_in_accepted_out(tally: Tally, name: str) -> None:
    """A validator accepts every output whose input it accepts, and has accepted a good many."""
    verdicts = tally.verdicts[name]
    assert not verdicts.refused, "\n".join(map(str, verdicts.refused[:3]))
    assert verdicts.inputs_accepted > verdicts.inputs / 2
    assert verdicts.outputs_accepted > 100


@pytest.mark.parametrize("name", RIVALS)
def test_the_run_can_tell(tally: Tally, name: str) -> None:
    """The same run finds refused outputs of every other reducer: it would have found ours."""
    assert tally.losses[name].refused > 0


def test_beside_the_others(tally: Tally) -> None:
    """Where the others are compared, no output of ours is refused or has lost its question."""
    ours = tally.losses["this package"]
    assert ours.reductions > 100
    assert (ours.refused, ours.question_lost) == (0, 0)
