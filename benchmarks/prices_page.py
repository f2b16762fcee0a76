"""Writes docs/prices.md from what prices.py measured: prices_page.py [--check].

One table a card, one row a pair: the ratio of step times, with its range, in each of the three steps. A ratio is only
shown as one where the pair's range lies on one side of 1 and further from it than the pair "the same on both sides".
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "prices.md"
SIZES = ("small kernels", "balanced", "large kernels")
SAME = "the same on both sides | which shows the noise"
INTRO = """\
# What flagged lines cost

Measured, not estimated: training steps with the line that a rule flags, beside the same step with what its page
advises. `benchmarks/prices.py` measures it on a CUDA device, and [its record](../benchmarks/{record}) has the
milliseconds. Three steps, of plain `nn.Linear` layers in float32:

- **small kernels** (8 layers of 128, batches of 64): launching them takes the host longer than the device needs.
- **balanced** (8 layers of 2048, batches of 512): both take about equally long. Here a wait costs most: neither works
  while it waits for the other.
- **large kernels** (4 layers of 4096, batches of 2048): the device sets the pace, and the host has time to spare.

A number is how many times as long the flagged step took, its range over the blocks that were measured in brackets;
`-` where it could not be told from the noise of that step. So a single wait each step costs 5 to 9 % where host and
device need equally long, and next to nothing where either sets the pace: count your own with `--runtime`. A line that
stands there many times, moves data, or makes the device do work twice costs what it costs.
"""


def shown(row: dict, noise: dict) -> str:
    """A ratio with its range, or that it is none."""
    if "error" in row:
        return "not measured"
    above = row["lowest"] > 1 and row["ratio"] > noise["highest"]
    below = row["highest"] < 1 and row["ratio"] < noise["lowest"]
    if not above and not below:
        return "-"
    return f"{row['ratio']:.2f} ({row['lowest']:.2f}..{row['highest']:.2f})"


def page(record: Path) -> str:
    """The page's text."""
    measured = json.loads(record.read_text(encoding="utf-8"))
    rows: dict[tuple[str, str], dict[str, dict]] = {}
    for row in measured["rows"]:
        rows.setdefault((row["code"], row["name"]), {})[row["size"]] = row
    noise = rows.pop(("none", SAME))
    where = measured["where"]
    lines = [
        INTRO.format(record=record.name),
        f"## {where['device']}, torch {where['torch']}\n",
        f"| rule | flagged | advised | {' | '.join(SIZES)} |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for (code, name), sizes in rows.items():
        flagged, _, advised = name.partition(" | ")
        cells = [shown(sizes[size], noise[size]) for size in SIZES]
        link = f"[{code}](rules.md#{code.lower()})"
        lines.append(f"| {link} | {_plain(flagged)} | {_plain(advised)} | {' | '.join(cells)} |")
    spread = ", ".join(f"{noise[size]['lowest']:.2f}..{noise[size]['highest']:.2f} ({size})" for size in SIZES)
    lines.append(f"\nThe same step on both sides: {spread}.")
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    return text.replace("|", "\\|").replace("_", "\\_").replace("*", "\\*")


def main() -> None:
    text = page(HERE / "prices_h200.json")
    if "--check" in sys.argv:
        sys.exit(0 if PAGE.read_text(encoding="utf-8") == text else f"{PAGE.name} is stale: run prices_page.py")
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
