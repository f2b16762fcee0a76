"""The share of findings that a reader called right, for each reading in `readings/`."""

from __future__ import annotations

import csv
import sys
from collections import Counter
from pathlib import Path

FOLDER = Path(__file__).parent / "readings"


def counts(path: Path) -> Counter[str]:
    """How often each label was given."""
    with path.open(encoding="utf-8", newline="") as file:
        return Counter(row["label"] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def main() -> int:
    print(f"{'reading':<20}{'right':>8}{'wrong':>8}{'open':>8}{'right / (right + wrong)':>26}")
    for path in sorted(FOLDER.glob("*.tsv")):
        found = counts(path)
        right, wrong = found["TP"], found["FP"]
        print(f"{path.stem:<20}{right:>8}{wrong:>8}{found['BORDERLINE']:>8}{right / (right + wrong):>26.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
