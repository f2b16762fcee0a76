"""How far two readers agree: on the label, and beyond chance (Cohen's kappa).

`python benchmarks/truth/agreement.py` compares `second.tsv` with `sites.tsv`, `files_second.tsv` with `files.tsv`, and
`scripts_second.tsv` with `scripts.tsv`, where places are the same if they overlap and their codes are of one family.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from operator import itemgetter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import precision

FOLDER = Path(__file__).parent
Key = tuple[str, str, str, str]


def labels(table: Path, kind: str = "pattern") -> dict[Key, str]:
    with table.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {(row["package"], row["path"], row["line"], row[kind]): row["label"] for row in rows}


def kappa(pairs: list[tuple[str, str]]) -> float:
    """Agreement beyond what two readers with these habits would have by chance; 1 is perfect."""
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    chance = sum(first[label] * second[label] for label in first) / len(pairs) ** 2
    seen = sum(a == b for a, b in pairs) / len(pairs)
    return (seen - chance) / (1 - chance)


def of_whole_files() -> list[tuple[str, str]]:
    """Pairs for places in files labelled whole, where what the first reader did not list is FP."""
    first, second = labels(FOLDER / "files.tsv", "code"), labels(FOLDER / "files_second.tsv", "code")
    return [(first.get(key, "FP"), label) for key, label in second.items()]


def of_scripts() -> list[tuple[str, str]]:
    """Pairs for places that either reader of the same whole files listed; FP stands for what one did not list."""
    place = itemgetter("package", "path")
    with (FOLDER / "scripts_second.tsv").open(encoding="utf-8", newline="") as file:
        second = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    both = {place(row) for row in second}
    with (FOLDER / "scripts.tsv").open(encoding="utf-8", newline="") as file:
        first = [row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if place(row) in both]
    first, second = ([row for row in rows if row["label"] != "NONE"] for rows in (first, second))
    pairs = [(one["label"], next((o["label"] for o in second if same(one, o)), "FP")) for one in first]
    return pairs + [("FP", other["label"]) for other in second if not any(same(one, other) for one in first)]


def same(one: dict[str, str], other: dict[str, str]) -> bool:
    if (one["package"], one["path"]) != (other["package"], other["path"]):
        return False
    overlap = int(one["line"]) <= int(other["end_line"]) and int(other["line"]) <= int(one["end_line"])
    return overlap and bool(precision.families_of(one["code"]) & precision.families_of(other["code"]))


def report(what: str, pairs: list[tuple[str, str]]) -> None:
    same = sum(a == b for a, b in pairs)
    share = same / len(pairs)
    print(f"{len(pairs)} {what} read twice: {same} with the same label ({share:.2f}), kappa {kappa(pairs):.2f}")
    decided = [(a, b) for a, b in pairs if "BORDERLINE" not in (a, b)]
    same = sum(a == b for a, b in decided)
    print(f"{len(decided)} that neither called BORDERLINE: {same} with the same label ({same / len(decided):.2f})")
    for (a, b), number in sorted(Counter(pair for pair in pairs if pair[0] != pair[1]).items()):
        print(f"  {number} {a} by the first, {b} by the second")


def report_found(pairs: list[tuple[str, str]]) -> None:
    """What each reader finds of the places that the other would change: what recall is to a linter."""
    counted = Counter(pairs)
    first, second = (sum(n for pair, n in counted.items() if pair[reader] == "TP") for reader in (0, 1))
    both = counted["TP", "TP"]
    print(f"of the places that the first reader would change the second names {both} of {first} ({both / first:.2f}),")
    print(f"of those that the second would change the first names {both} of {second} ({both / second:.2f})")


def main() -> int:
    first, second = labels(FOLDER / "sites.tsv"), labels(FOLDER / "second.tsv")
    report("sites", [(first[key], label) for key, label in second.items()])
    report("places in whole files", of_whole_files())
    scripts = of_scripts()
    report("places in training scripts", scripts)
    report_found(scripts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
