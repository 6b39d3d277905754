"""How much goes through the validators: what a continuous build has time for, or everything."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from tests.acceptance import corpus, generated
from tests.acceptance.tally import Tally


def tallied(*, full: bool) -> Tally:
    """Judge histories and compare reducers.

    Args:
        full: Every conversation at up to 12 of its model calls, and 3,000 generated histories;
            otherwise every fourth conversation at 3 of them, and 200.
    """
    tally = Tally()
    conversations = corpus.conversations(every=1 if full else 4)
    points = 12 if full else 3
    with unheard():
        tally.judge(corpus.source(), conversations, points=points)
        tally.judge("known shapes", corpus.known(), points=points)
        tally.judge(
            "generated histories", generated.histories(3000 if full else 200), points=points
        )
        tally.compare(conversations[:: 2 if full else 3], points=points)
    return tally


@contextmanager
def unheard() -> Iterator[None]:
    """Budgets of one and two overflow all the time: nobody needs to read that each time."""
    logger = logging.getLogger("langchain_mentor_reducer")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
