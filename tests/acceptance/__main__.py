"""The acceptance run from a shell: `python -m tests.acceptance [--full] [--write]`."""

import argparse
import sys

from tests import tables
from tests.acceptance import breaker, cassettes, report, run


def main() -> int:
    """Run, print the tables, and write them where asked to."""
    parser = argparse.ArgumentParser(prog="python -m tests.acceptance", description=__doc__)
    parser.add_argument("--full", action="store_true", help="every history, at more points")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/")
    options = parser.parse_args()

    tally = run.tallied(full=options.full)
    parts = [report.markdown(tally)]
    if cassettes.CASSETTES.exists():
        with run.unheard():
            parts.append(report.recorded(cassettes.check()))
    with run.unheard():
        broken = breaker.run(full=options.full).markdown()
    parts.append(broken)
    text = "\n\n".join(parts)
    print(text)
    for refusal in tally.refused[:10]:
        print(refusal, file=sys.stderr)
    if options.write:
        tables.write("acceptance", text, tables.DOCS / "acceptance.md")
        # Without the corners below the table, which stand on the other page.
        breakage = broken.partition("\n\n")[0]
        tables.write("breakage", breakage, tables.DOCS / "broken-threads.md")
    return 1 if tally.refused else 0


if __name__ == "__main__":
    raise SystemExit(main())
