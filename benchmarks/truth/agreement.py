"""How far two readers agree: on the label, and beyond chance (Cohen's kappa).

`python benchmarks/truth/agreement.py` compares `second.tsv` with `sites.tsv`.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from pathlib import Path

FOLDER = Path(__file__).parent
Key = tuple[str, str, str, str]


def labels(table: Path) -> dict[Key, str]:
    with table.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {(row["package"], row["path"], row["line"], row["pattern"]): row["label"] for row in rows}


def kappa(pairs: list[tuple[str, str]]) -> float:
    """Agreement beyond what two readers with these habits would have by chance; 1 is perfect."""
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    chance = sum(first[label] * second[label] for label in first) / len(pairs) ** 2
    seen = sum(a == b for a, b in pairs) / len(pairs)
    return (seen - chance) / (1 - chance)


def main() -> int:
    first, second = labels(FOLDER / "sites.tsv"), labels(FOLDER / "second.tsv")
    pairs = [(first[key], label) for key, label in second.items()]
    same = sum(a == b for a, b in pairs)
    print(
        f"{len(pairs)} sites read twice: {same} with the same label ({same / len(pairs):.2f}), kappa {kappa(pairs):.2f}"
    )
    decided = [(a, b) for a, b in pairs if "BORDERLINE" not in (a, b)]
    same = sum(a == b for a, b in decided)
    print(f"{len(decided)} that neither called BORDERLINE: {same} with the same label ({same / len(decided):.2f})")
    for (a, b), number in sorted(Counter(pair for pair in pairs if pair[0] != pair[1]).items()):
        print(f"  {number} {a} by the first, {b} by the second")
    return 0


if __name__ == "__main__":
    sys.exit(main())
