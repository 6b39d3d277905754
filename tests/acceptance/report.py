"""The tables of a run, in Markdown."""

from importlib.metadata import version

from tests.acceptance.cassettes import FORMS, READERS, Recorded
from tests.acceptance.corners import CORNERS
from tests.acceptance.tally import BUDGETS, Tally
from tests.acceptance.validators import VALIDATORS
from tests.tables import table

CONVERTERS = (
    "langchain-core",
    "langchain-openai",
    "langchain-anthropic",
    "langchain-mistralai",
    "langchain-google-genai",
    "langchain-aws",
)


def markdown(tally: Tally) -> str:
    """Both tables, and what they do not prove."""
    versions = ", ".join(f"`{name}` {version(name)}" for name in CONVERTERS)
    histories = ", ".join(f"{n:,} {source}" for source, n in tally.histories.items())
    budgets = ", ".join(map(str, BUDGETS))
    return f"""\
{histories}, cut at {tally.model_calls:,} points where a model was called: \
{tally.reductions:,} reductions with various budgets. A validator has a say about an output if it \
accepts the input.

{_verdicts(tally)}

{_corners(tally)}

The same with budgets of {budgets} messages, at {tally.compared:,} of these points:

{_losses(tally)}

Wire forms by {versions}. What this does not prove: that a provider accepts the request. A \
validator knows the order of messages, not the model, its limits or its schema, and our own \
reading is only that. Newer Claude models tie each thinking block to everything before it: they \
refuse thinking behind any cut unless `thinking.block_binding.prefix_mismatch_behavior` is \
`"drop_block"`."""


def _verdicts(tally: Tally) -> str:
    head = ["validator", "judged by", "inputs accepted", "outputs accepted", "corner", "refused"]
    rows = []
    for validator in VALIDATORS:
        said = tally.verdicts[validator.name]
        rows.append(
            [
                validator.name,
                validator.label,
                f"{said.inputs_accepted:,} of {said.inputs:,}",
                f"{said.outputs_accepted:,}",
                f"{said.cornered.total():,}",
                f"{len(said.refused):,}",
            ]
        )
    return table(head, rows, left=2)


def _corners(tally: Tally) -> str:
    seen: dict[str, dict[str, int]] = {}
    for verdicts in tally.verdicts.values():
        for (name, source), times in verdicts.cornered.items():
            by_source = seen.setdefault(name, {})
            by_source[source] = by_source.get(source, 0) + times
    return "\n".join(
        f"- Corner: {corner.name} ("
        + ", ".join(f"{times:,} in {source}" for source, times in seen[corner.name].items())
        + f"). {corner.reason}"
        for corner in CORNERS
        if corner.name in seen
    )


def _losses(tally: Tally) -> str:
    head = ["reducer", "reductions", "refused by a validator", "newest question lost"]
    rows = [
        [
            name,
            f"{losses.reductions:,}",
            f"{losses.refused / losses.reductions:.1%}",
            f"{losses.question_lost / losses.reductions:.1%}",
        ]
        for name, losses in tally.losses.items()
    ]
    return table(head, rows)


def recorded(results: dict[str, Recorded]) -> str:
    """The table of the recorded requests."""
    head = ["recorded requests", "answered, fine", "order refused", "reductions", "corner"]
    rows = []
    for form, result in results.items():
        fine = result.answered - len(result.misjudged) - result.tolerated.total()
        rows.append(
            [
                FORMS[form],
                f"{fine:,} of {result.answered:,}",
                f"{result.order_refused:,}",
                f"{result.reductions:,}" if form in READERS else "-",
                f"{result.cornered.total():,}",
                f"{len(result.refused):,}",
            ]
        )
    return table([*head, "refused"], rows)
