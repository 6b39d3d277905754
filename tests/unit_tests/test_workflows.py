"""The workflows, forms and hooks: they are YAML, and the make targets they call exist."""

import re
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped] # comes with langchain-core, without types

ROOT = Path(__file__).parents[2]
FILES = [*sorted(ROOT.glob(".github/*/*.yml")), ROOT / ".pre-commit-config.yaml"]


@pytest.mark.skipif(not (ROOT / ".github").exists(), reason="an sdist has no workflows")
def test_workflows_call_targets_that_exist() -> None:
    """Every file is read as YAML, and what it makes stands in the Makefile."""
    targets = set(re.findall(r"^([a-z_]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    made: set[str] = set()
    for path in FILES:
        text = path.read_text("utf-8")
        for job in yaml.safe_load(text).get("jobs", {}).values():
            made.update(job.get("strategy", {}).get("matrix", {}).get("target", []))
        for words in re.findall(r"(?:run|entry): make (.+)", text):
            made.update(re.findall(r"(?<!\S)[a-z_]+(?!\S)", words))
    assert made >= {"test", "lint", "notebooks", "dist", "wheels", "format"}
    assert made <= targets
