"""What `--fix --unsafe-fixes` does to real packages: every file must parse after it, and a second run change nothing.

`python benchmarks/fixes.py PACKAGES` works on copies and prints one table; `--show N` prints N of the edits, drawn at
random, as patches to read.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import packages

SEED = 20261121
TWELVE = (
    "timm diffusers lightning kornia peft fastai catalyst d3rlpy pytorch_forecasting basicsr torchmetrics "
    "pytorch_metric_learning"
).split()


def lint(directory: Path, *options: str) -> str:
    """Every rule, also the findings hidden by default: more of them have fixes."""
    command = [sys.executable, "-m", "torchperf_lint", "--isolated", "--no-cache", "--exit-zero", "--confidence"]
    command += ["possible", *options, "."]
    done = subprocess.run(command, cwd=directory, env=packages.HERE, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 2):
        raise SystemExit(done.stderr)
    return done.stdout


def texts(directory: Path) -> dict[str, str]:
    """The Python files of a directory, by path."""
    found = sorted(directory.rglob("*.py"))
    return {path.relative_to(directory).as_posix(): path.read_text("utf-8", errors="replace") for path in found}


def parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def hunks(name: str, before: str, after: str) -> Iterator[str]:
    """The changes of a file, each as a patch of its own."""
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), name, name, lineterm="", n=4))
    starts = [i for i, line in enumerate(lines) if line.startswith("@@")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield "\n".join([f"--- {name}", *lines[start:end]])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("directory", type=Path, help="where `benchmarks/packages.py` unpacked the packages")
    parser.add_argument("--show", type=int, default=0, metavar="N")
    options = parser.parse_args()
    every: list[str] = []
    failed = False
    print(f"{'':<26}{'changed files':>15}{'changes':>9}{'broken':>8}{'left to fix':>13}{'changed again':>15}")
    for name, source in packages.unpacked(options.directory).items():
        if name.rpartition("-")[0] not in TWELVE:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            directory = Path(scratch) / name
            shutil.copytree(source, directory)
            before = texts(directory)
            lint(directory, "--fix", "--unsafe-fixes")
            after = texts(directory)
            report = json.loads(lint(directory, "--unsafe-fixes", "--output-format", "json"))
            lint(directory, "--fix", "--unsafe-fixes")
            again = texts(directory)
        changed = [path for path in before if before[path] != after[path]]
        found = [hunk for path in changed for hunk in hunks(f"{name}/{path}", before[path], after[path])]
        broken = sum(parses(before[path]) and not parses(after[path]) for path in changed)
        left = sum(_fixable(finding) for finding in report["findings"])
        twice = sum(after[path] != again[path] for path in after)
        print(f"{name:<26}{len(changed):>15}{len(found):>9}{broken:>8}{left:>13}{twice:>15}", flush=True)
        failed = failed or bool(broken or left or twice)
        every += found
    for hunk in random.Random(SEED).sample(every, min(options.show, len(every))):
        print(f"\n{hunk}")
    return 1 if failed else 0


def _fixable(finding: dict[str, dict[str, str] | None]) -> bool:
    fix = finding["fix"]
    return fix is not None and fix["safety"] != "display"


if __name__ == "__main__":
    sys.exit(main())
