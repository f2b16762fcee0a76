"""How long torchperf-lint takes beside the least that a linter built on libcst could take.

`python benchmarks/speed.py DIRECTORY ...` prints one table. All times are CPU seconds (user and system, children
included) of fresh processes, so that other work on the machine weighs little; POSIX only.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent))
import packages

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "fixtures" / "example" / "train.py"
COMMAND = "import sys; from torchperf_lint.adapters.cli import main; sys.exit(main())"
"""What the installed script does; `-m` would add the cost of runpy."""
PARSE = """\
import gc, json, sys, time
from libcst import ParserSyntaxError, parse_module
if "no-gc" in sys.argv:
    gc.disable()
spent, refused = 0.0, 0
for path in json.load(sys.stdin):
    with open(path, "rb") as file:
        data = file.read()
    start = time.process_time()
    try:
        parse_module(data)
    except (ParserSyntaxError, UnicodeDecodeError):
        refused += 1
    spent += time.process_time() - start
print(json.dumps([spent, refused]))
"""
STARTS_PER_REPEAT = 5


@dataclass
class Row:
    """Times of something and of what it is held against, one entry a repeat."""

    name: str
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)

    def line(self, note: str = "") -> str:
        """Medians, and the ratio of the medians."""
        return _line(self.name, median(self.ours), median(self.theirs), note)


@dataclass
class Package(Row):
    """An unpacked package."""

    directory: Path = Path()
    files: int = 0
    torch_files: list[str] = field(default_factory=list)
    refused: int = 0
    alone: Row = field(default_factory=lambda: Row("  one file of it, as a hook : all"))
    """One of its torch files, of middle size, with the cache that an earlier run left; beside the run over all."""


def _line(name: str, ours: float, theirs: float, note: str = "") -> str:
    return f"{name:<32}{ours:>10.3f}{theirs:>10.3f}{ours / theirs:>8.2f}  {note}".rstrip()


def main() -> None:
    """Measure, or download what to measure with."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("directories", nargs="*", type=Path, metavar="DIRECTORY", help="an unpacked package")
    parser.add_argument("--repeats", type=int, default=3, help="default: 3")
    parser.add_argument("--file", type=Path, default=EXAMPLE, help="for the row of one file; default: the example")
    parser.add_argument("--no-gc", action="store_true", help="parse_module, too, runs without the garbage collector")
    parser.add_argument("--download", type=Path, metavar="DIR", help="fetch pinned wheels into DIR, unpack them, stop")
    arguments = parser.parse_args()
    if arguments.download:
        packages.fetch(arguments.download)
    elif arguments.directories:
        parse = ["-c", PARSE, *(["no-gc"] if arguments.no_gc else [])]
        measured = [_package(path.resolve()) for path in arguments.directories]
        measure(measured, parse, arguments.file.resolve(), arguments.repeats)
    else:
        parser.error("name the directories of unpacked packages (or --download DIR first)")


def measure(measured: list[Package], parse: list[str], one_file: Path, repeats: int) -> None:
    """Print the table; `parse` is what Python gets to run the other side."""
    version, single = Row("--version : python -c pass"), Row("one file : import libcst")
    with tempfile.TemporaryDirectory() as empty:
        run = _runner(Path(empty))
        run(["-c", "import libcst, rich"])  # byte code is compiled before anything is timed
        run(["-c", COMMAND, "--exit-zero", str(one_file)])
        for _ in range(repeats):
            for package in measured:
                _measure_package(package, parse, run)
            for _ in range(STARTS_PER_REPEAT):
                version.ours.append(run(["-c", COMMAND, "--version"])[0])
                version.theirs.append(run(["-c", "pass"])[0])
                single.ours.append(run(["-c", COMMAND, "--exit-zero", "--no-cache", str(one_file)])[0])
                single.theirs.append(run(["-c", "import libcst"])[0])
    print(f"CPU seconds, medians of {repeats} interleaved repeats, Python {'.'.join(map(str, sys.version_info[:3]))}")
    print(f"parse_module runs {'without' if 'no-gc' in parse else 'with'} the garbage collector\n")
    _print(measured, (version, single))


Run = Callable[..., tuple[float, str]]


def _runner(cwd: Path) -> Run:
    """Runs Python in an empty directory; gives CPU seconds and what it printed."""
    environment = {
        **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
        "PYTHONPATH": str(ROOT),
        "PYTHONPYCACHEPREFIX": str(cwd / "byte_code"),  # installers compile; a work tree may have none
        "XDG_CACHE_HOME": str(cwd / "cache"),
    }

    def run(arguments: list[str], given: str = "", may_exit: tuple[int, ...] = (0,)) -> tuple[float, str]:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=cwd,
            env=environment,
            input=given,
            capture_output=True,
            check=False,
            encoding="utf-8",
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode not in may_exit:
            raise SystemExit(f"{arguments} ended with {done.returncode}: {done.stderr}")
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, done.stdout

    return run


def _package(directory: Path) -> Package:
    for above in (directory, *directory.parents):
        if (above / ".git").exists():
            raise SystemExit(f"{directory} lies in the git repository {above}, all of which would be indexed")
    files = sorted(directory.rglob("*.py"))
    torch_files = [str(path) for path in files if b"torch" in path.read_bytes()]
    if not torch_files:
        raise SystemExit(f"{directory}: no Python file there mentions torch")
    return Package(directory.name, directory=directory, files=len(files), torch_files=torch_files)


def _measure_package(package: Package, parse: list[str], run: Run) -> None:
    options = ["--isolated", "--jobs", "1", "--no-cache", "--exit-zero", "--output-format", "concise"]
    # 2: a package may hold a file that cannot be checked.
    spent, _ = run(["-c", COMMAND, *options, str(package.directory)], may_exit=(0, 2))
    package.ours.append(spent)
    middle = sorted(package.torch_files, key=lambda path: (Path(path).stat().st_size, path))
    as_a_hook = [option for option in options if option != "--no-cache"] + [middle[len(middle) // 2]]
    run(["-c", COMMAND, *as_a_hook], may_exit=(0, 2))  # the first run fills the cache
    package.alone.ours.append(run(["-c", COMMAND, *as_a_hook], may_exit=(0, 2))[0])
    package.alone.theirs.append(spent)
    parsing, package.refused = json.loads(run(parse, json.dumps(package.torch_files))[1])
    package.theirs.append(parsing)


def _print(packages: list[Package], starts: Iterable[Row]) -> None:
    print(f"{'':<32}{'ours':>10}{'theirs':>10}{'ratio':>8}")
    for package in packages:
        refused = f", {package.refused} refused by libcst" if package.refused else ""
        print(package.line(f"{package.files} files, {len(package.torch_files)} mention torch{refused}"))
        print(package.alone.line())
    ours = sum(median(package.ours) for package in packages)
    theirs = sum(median(package.theirs) for package in packages)
    print(_line("total", ours, theirs, "lint all files : parse_module over the torch files"))
    for row in starts:
        print(row.line(f"medians of {len(row.ours)}"))


if __name__ == "__main__":
    main()
