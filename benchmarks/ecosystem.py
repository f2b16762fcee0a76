"""Which findings of real projects come and go between an earlier revision of torchperf-lint and this tree.

`python benchmarks/ecosystem.py REVISION PROJECT...` lints each directory with both and prints what only one of them
reports, `-` before and `+` after, with default settings (`--confidence possible`: also what these hide). The truth sets
hold few places of a project; a mistake that hides a tenth of all findings shows here first. So does a rule that crashes
on a file, told with `!`: then the exit code is 1.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

TREE = Path(__file__).parents[1]


class Shown(NamedTuple):
    """A finding as far as two revisions have to agree on it."""

    path: str
    """Relative to the project."""
    line: int
    """1-based."""
    code: str


Findings = dict[Shown, str]
"""The message of each."""


class Report(NamedTuple):
    """What one revision says of a project."""

    findings: Findings
    crashes: list[str]
    """Of the tool itself; files that no Python can read are none."""


class NoReportError(Exception):
    """A revision ended on a project without a report."""


def checked_out(revision: str, folder: Path) -> Path:
    """The package at `revision`, in `folder`; raises CalledProcessError where git does not know the revision."""
    archive = ["git", "-C", str(TREE), "archive", revision, "torchperf_lint"]
    packed = subprocess.run(archive, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as files:
        files.extractall(folder, filter="data")
    return folder


def report(home: Path, project: Path, options: Sequence[str]) -> Report:
    """What the package in `home` reports in `project`. Raises NoReportError."""
    command = [sys.executable, "-P", "-m", "torchperf_lint", "--isolated", "--no-cache", "--jobs", "1", "--exit-zero"]
    command += ["--output-format", "json", *options, "."]
    environment = {**os.environ, "PYTHONPATH": str(home)}
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise NoReportError(f"{project}: {done.stderr[-500:]}")
    told = json.loads(done.stdout)
    crashes = [f"{e['path']} {e['rule']} {e['reason']}" for e in told["errors"] if "crashed" in e["reason"]]
    return Report({Shown(f["path"], f["line"], f["code"]): f["message"] for f in told["findings"]}, crashes)


def differences(project: str, before: Findings, after: Findings) -> list[str]:
    """A line for each finding that only one side has, in the order of the source."""
    gone, new = before.keys() - after, after.keys() - before
    changed = sorted([*((shown, "-") for shown in gone), *((shown, "+") for shown in new)])
    return [
        f"{sign} {project}/{shown.path}:{shown.line} {shown.code} {(before if sign == '-' else after)[shown]}"
        for shown, sign in changed
    ]


def summary(lines: Sequence[str], before: int, after: int) -> list[str]:
    """How many of each rule came and went, and all."""
    signs = Counter((line.split()[2], line[0]) for line in lines)
    rows = [f"{code}: -{signs[code, '-']} +{signs[code, '+']}" for code in sorted({code for code, _ in signs})]
    gone, new = (sum(number for (_, sign), number in signs.items() if sign == which) for which in "-+")
    return [*rows, f"{before} findings before, {after} after: {gone} gone, {new} new"]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("revision", help="a commit of this repository")
    parser.add_argument("projects", nargs="+", type=Path, help="directories with code to lint, each a project")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--confidence", default="likely", choices=("certain", "likely", "possible"))
    options = parser.parse_args()
    asked = ("--confidence", options.confidence)
    lines: list[str] = []
    totals = [0, 0]
    crashed = False
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        earlier = checked_out(options.revision, Path(folder))
        sides = [pool.map(partial(report, home, options=asked), options.projects) for home in (earlier, TREE)]
        for project, before, after in zip(options.projects, *sides, strict=True):
            lines += (changed := differences(project.name, before.findings, after.findings))
            totals = [totals[0] + len(before.findings), totals[1] + len(after.findings)]
            crashed = crashed or bool(after.crashes)
            told = [*changed, *(f"! {project.name}/{crash}" for crash in after.crashes)]
            print(*told, sep="\n", end="\n" if told else "", flush=True)
    print(*summary(lines, *totals), sep="\n")
    return 1 if crashed else 0


if __name__ == "__main__":
    sys.exit(main())
