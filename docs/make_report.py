"""Draws the pictures in the README, in rich's own SVG: report.svg, the linter over the example, and run.svg.

run.svg shows what `--report` says of run.events.jsonl: fixtures/train/loader_bound.py under `--runtime`, recorded on a
machine with two cores and without a GPU; the directory it ran in is left out of its first line.
`python docs/make_report.py` draws both anew.
"""

from __future__ import annotations

import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "report.svg"
RUN = ROOT / "docs" / "run.svg"
RECORD = ROOT / "docs" / "run.events.jsonl"
EXAMPLE = ROOT / "fixtures" / "example"
ARGUMENTS = ("--select", "TPL101,TPL201", "train.py")
WIDTH = 98
"""Columns."""


def picture() -> str:
    """The SVG of the linter's report as it would be made now."""
    return _drawn(" ".join(("torchperf-lint", *ARGUMENTS)), _printed(("--no-cache", *ARGUMENTS), EXAMPLE, 1), "report")


def picture_of_run() -> str:
    """The SVG of what a report says of the recorded run now."""
    page = _printed(("--report", RECORD.name), RECORD.parent, 0)
    return _drawn("torchperf-lint --runtime loader_bound.py", page, "run")


def _drawn(command: str, page: str, name: str) -> str:
    console = Console(record=True, file=StringIO(), width=WIDTH, force_terminal=True, legacy_windows=False)
    console.print(Text.assemble(("$ ", "green"), command, "\n"))
    console.print(Text.from_ansi(page), soft_wrap=True)
    svg = console.export_svg(title="torchperf-lint", unique_id=name)
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def _printed(arguments: tuple[str, ...], directory: Path, code: int) -> str:
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    done = subprocess.run(
        [sys.executable, "-m", "torchperf_lint", "--color", "always", *arguments],
        cwd=directory,
        env={**kept, "PYTHONPATH": str(ROOT), "COLUMNS": str(WIDTH)},
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    if done.returncode != code:
        raise SystemExit(f"torchperf-lint ended with {done.returncode}: {done.stderr}")
    return done.stdout.rstrip("\n")


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    RUN.write_text(picture_of_run(), encoding="utf-8")
