"""Tables that a run produces, in Markdown, and their places in the docs."""

from collections.abc import Iterable, Sequence
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
DOCS = README.parent / "docs"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> str:
    """Lay out a table; the first `left` columns hold words, the others numbers."""
    marks = ["---" if column < left else "---:" for column in range(len(head))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, marks, *rows])


def write(name: str, text: str, page: Path) -> None:
    """Put a text into a page, between the markers of that name.

    Raises:
        SystemExit: If the page or its markers are missing.
    """
    start, end = f"<!-- {name}:start -->", f"<!-- {name}:end -->"
    written = page.read_text(encoding="utf-8") if page.exists() else ""
    before, opened, rest = written.partition(start)
    _, closed, after = rest.partition(end)
    if not (opened and closed):
        msg = f"put {start} and {end}, each on a line of its own, into {page.name} first"
        raise SystemExit(msg)
    page.write_text(f"{before}{start}\n{text}\n{end}{after}", encoding="utf-8")
