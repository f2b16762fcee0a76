"""Draws docs/report.svg, the picture in the README: a real run over the example, in rich's own SVG.

`python docs/make_report.py` writes it anew.
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
EXAMPLE = ROOT / "fixtures" / "example"
ARGUMENTS = ("--select", "TPL101,TPL201", "train.py")
WIDTH = 98
"""Columns."""


def picture() -> str:
    """The SVG of the report as it would be made now."""
    console = Console(record=True, file=StringIO(), width=WIDTH, force_terminal=True, legacy_windows=False)
    console.print(Text.assemble(("$ ", "green"), " ".join(("torchperf-lint", *ARGUMENTS)), "\n"))
    console.print(Text.from_ansi(_report()), soft_wrap=True)
    svg = console.export_svg(title="torchperf-lint", unique_id="report")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def _report() -> str:
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    done = subprocess.run(
        [sys.executable, "-m", "torchperf_lint", "--color", "always", "--no-cache", *ARGUMENTS],
        cwd=EXAMPLE,
        env={**kept, "PYTHONPATH": str(ROOT), "COLUMNS": str(WIDTH)},
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    if done.returncode != 1:
        raise SystemExit(f"torchperf-lint ended with {done.returncode}: {done.stderr}")
    return done.stdout.rstrip("\n")


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
