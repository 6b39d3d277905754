"""The benchmarks from a shell: `python -m tests.benchmarks [--quick] [--write]`."""

import argparse
import sys

from tests.benchmarks import agent, mending, side_by_side, speed
from tests.benchmarks.versions import versions
from tests.tables import DOCS, write

QUICK = (100, 1_000)


def main(arguments: list[str] | None = None) -> None:
    """Measure, print the tables, and write them where asked to."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short histories, one window")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/")
    parser.add_argument(
        "--limit", type=float, default=2.0, metavar="SECONDS", help="the most that a call may take"
    )
    options = parser.parse_args(arguments)
    limit: float = options.limit

    setting = f"Measured with {versions()}."
    print(f"{setting}\n")
    rows = list(speed.rows(QUICK, seconds=0.2) if options.quick else speed.rows())
    print(f"{speed.markdown(rows)}\n\n{speed.invoke_markdown(rows)}\n")
    mend = mending.markdown(seconds=0.2 if options.quick else 0.5)
    print(f"{mend}\n")

    cells = list(
        side_by_side.cells(
            QUICK if options.quick else side_by_side.LENGTHS,
            (50,) if options.quick else side_by_side.WINDOWS,
            seconds=0.05 if options.quick else 0.2,
            limit=limit,
            progress=lambda what: print(what, file=sys.stderr),
        )
    )
    print(f"{side_by_side.full_markdown(cells, limit)}\n")
    turns = 60 if options.quick else agent.TURNS
    thread = agent.markdown(agent.rows(turns), turns)
    print(f"{thread}\n")
    if options.write:
        tables = [
            speed.markdown(rows),
            speed.invoke_markdown(rows),
            mend,
            side_by_side.markdown(cells, limit),
            setting,
        ]
        write("bench", "\n\n".join(tables), DOCS / "benchmarks.md")
        write("agent", thread, DOCS / "long-threads.md")


if __name__ == "__main__":
    main()
