"""How many findings each rule has in ten real packages, and what changed since the counts were last recorded.

`python benchmarks/corpus.py PACKAGES` prints rules by packages; `--record` replaces `truth/counts.tsv`. A number that
jumps is not wrong by itself: somebody has to read what is new.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import packages

RECORD = packages.TRUTH / "counts.tsv"
TEN = "timm diffusers lightning kornia peft fastai catalyst d3rlpy pytorch_forecasting basicsr".split()
Counts = Counter[tuple[str, str]]
"""(package, code) -> findings, with default settings."""


def counted(directory: Path, package: str) -> Counts:
    command = [sys.executable, "-m", "torchperf_lint", "--isolated", "--exit-zero", "--output-format", "json", "."]
    done = subprocess.run(command, cwd=directory, env=packages.HERE, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise SystemExit(done.stderr)
    return Counter((package, finding["code"]) for finding in json.loads(done.stdout)["findings"])


def recorded() -> Counts:
    if not RECORD.exists():
        return Counter()
    with RECORD.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return Counter({(row["package"], row["code"]): int(row["findings"]) for row in rows})


def record(counts: Counts) -> None:
    lines = ["package\tcode\tfindings"]
    lines += [f"{package}\t{code}\t{number}" for (package, code), number in sorted(counts.items())]
    RECORD.write_text("\n".join(lines) + "\n", encoding="utf-8")


def table(counts: Counts, before: Counts) -> list[str]:
    """One row a rule; a change since the record stands behind the number: `12 (+3)`."""
    lines = ["".join(f"{head:>13}" for head in ("", *(name[:12] for name in TEN), "all"))]
    for code in sorted({code for _, code in {*counts, *before}}):
        cells = [(counts[name, code], before[name, code]) for name in TEN]
        cells.append((sum(now for now, _ in cells), sum(then for _, then in cells)))
        lines.append(f"{code:>13}" + "".join(f"{_cell(now, then):>13}" for now, then in cells))
    return lines


def _cell(now: int, then: int) -> str:
    return f"{now}" if now == then else f"{now} ({now - then:+})"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("directory", type=Path, help="where `benchmarks/packages.py` unpacked the packages")
    parser.add_argument("--record", action="store_true", help="make these the counts to compare with")
    options = parser.parse_args()
    directories = packages.unpacked(options.directory)
    counts: Counts = Counter()
    for name, directory in directories.items():
        package = name.rpartition("-")[0]
        if package in TEN:
            counts += counted(directory, package)
    print(*table(counts, recorded()), sep="\n")
    if options.record:
        record(counts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
