"""The tables of a run, in Markdown, and their place in the README."""

from importlib.metadata import version
from pathlib import Path

from tests.acceptance.cassettes import FORMS, READERS, Recorded
from tests.acceptance.corners import CORNERS
from tests.acceptance.tally import BUDGETS, Tally
from tests.acceptance.validators import VALIDATORS

README = Path(__file__).resolve().parents[2] / "README.md"
START, END = "<!-- acceptance:start -->", "<!-- acceptance:end -->"
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
    histories = " and ".join(f"{n:,} {source}" for source, n in tally.histories.items())
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
reading is only that."""


def _verdicts(tally: Tally) -> str:
    rows = [
        "| validator | judged by | inputs accepted | outputs accepted | in a corner | refused |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for validator in VALIDATORS:
        said = tally.verdicts[validator.name]
        rows.append(
            f"| {validator.name} | {validator.label} | {said.inputs_accepted:,} of {said.inputs:,} "
            f"| {said.outputs_accepted:,} | {said.cornered.total():,} | {len(said.refused):,} |"
        )
    return "\n".join(rows)


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
    rows = [
        "| reducer | reductions | refused by a validator | newest question lost |",
        "|---|---:|---:|---:|",
    ]
    for name, losses in tally.losses.items():
        rows.append(
            f"| {name} | {losses.reductions:,} | {losses.refused / losses.reductions:.1%} "
            f"| {losses.question_lost / losses.reductions:.1%} |"
        )
    return "\n".join(rows)


def recorded(results: dict[str, Recorded]) -> str:
    """The table of the recorded requests."""
    rows = [
        "| recorded requests | answered, fine | order refused | reductions | corner | refused |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for form, result in results.items():
        fine = result.answered - len(result.misjudged) - result.tolerated.total()
        reductions = f"{result.reductions:,}" if form in READERS else "-"
        rows.append(
            f"| {FORMS[form]} | {fine:,} of {result.answered:,} | {result.order_refused} "
            f"| {reductions} | {result.cornered.total()} | {len(result.refused)} |"
        )
    return "\n".join(rows)


def write(text: str) -> None:
    """Put the tables into the README, between their markers.

    Raises:
        SystemExit: If the README or its markers are missing.
    """
    readme = README.read_text(encoding="utf-8") if README.exists() else ""
    before, start, rest = readme.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        msg = f"put {START} and {END}, each on a line of its own, into {README.name} first"
        raise SystemExit(msg)
    README.write_text(f"{before}{START}\n\n{text}\n\n{END}{after}", encoding="utf-8")
