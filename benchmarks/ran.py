"""What real training scripts showed when they ran under `--runtime --simulate`, judged line by line.

`ran.tsv`, `ran_second.tsv`, `ran_third.tsv` and `ran_fourth.tsv` are four rounds of repositories, each run before what
it showed was mended.

Of the findings whose lines ran, how many a reader called right; of the lines that wait or copy in at least half of the
steps and are worth a change, how many a finding named. The rest is what a reader would leave as it is.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
ASIDE = "fourth"
"""The draw of `truth/scripts.tsv` that nothing is tuned on."""


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def line_of(name: str, chosen: list[dict[str, str]]) -> str:
    ran = [row for row in chosen if row["kind"] == "finding" and row["verdict"] in ("confirmed", "refuted")]
    found = Counter(row["label"] for row in ran)
    verdicts = Counter(row["verdict"] for row in ran)
    unnamed = Counter(row["label"] for row in chosen if row["kind"] == "unnamed")
    right, wrong, missed = found["TP"], found["FP"], unnamed["MISS"]
    return (
        f"{name:<24}{len({row['package'] for row in chosen}):>6}{verdicts['confirmed']:>11}{verdicts['refuted']:>9}"
        f"{right:>7}{wrong:>7}{missed:>8}{unnamed['FINE']:>6}{unnamed['BORDERLINE'] + found['BORDERLINE']:>6}"
        f"{right / (right + wrong):>11.2f}{right / (right + missed):>8.2f}"
    )


def main() -> int:
    every = rows(HERE / "ran.tsv")
    draws = {row["package"]: row["pattern"] for row in rows(HERE / "truth" / "scripts.tsv")}
    aside = [row for row in every if draws.get(row["package"], ASIDE) == ASIDE]
    print(f"{'':<24}{'repos':>6}{'confirmed':>11}{'refuted':>9}{'right':>7}{'wrong':>7}{'missed':>8}", end="")
    print(f"{'fine':>6}{'open':>6}{'precision':>11}{'recall':>8}")
    print(line_of("first, never tuned on", aside))
    print(line_of("first, tuned on", [row for row in every if row not in aside]))
    print(line_of("second, never seen", rows(HERE / "ran_second.tsv")))
    print(line_of("third, never seen", rows(HERE / "ran_third.tsv")))
    print(line_of("fourth, never seen", rows(HERE / "ran_fourth.tsv")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
