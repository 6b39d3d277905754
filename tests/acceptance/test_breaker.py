"""What breaks a thread, at every place: nobody refuses what was mended."""

import pytest

from tests.acceptance import breaker, run

MENDED = [name for name in breaker.REPAIRS if "mend" in name]


@pytest.fixture(scope="module")
def breakages() -> breaker.Breakages:
    """A bounded share of all breakages."""
    with run.unheard():
        result = breaker.run(full=False)
    print(result.markdown())
    return result


@pytest.mark.parametrize("name", MENDED)
def test_nobody_refuses_what_was_mended(breakages: breaker.Breakages, name: str) -> None:
    """Who accepts the unbroken history accepts the mended one."""
    by = breakages.refused_by[name]
    assert not by, [breakages.examples[name, who] for who in by]


@pytest.mark.parametrize("name", [name for name in breaker.REPAIRS if name not in MENDED])
def test_the_breaker_can_tell(breakages: breaker.Breakages, name: str) -> None:
    """The same breakages are refused after everything else."""
    assert breakages.refused[name] > breakages.tried / 10
