"""What recall would be if the linter knew more: by what the missed places of the truth set are lost.

`python benchmarks/limits.py DIR [--part tuning|aside|all] [--scripts] [--draw NAME]` prints a row for each belief that
the linter is given: that all functions are hot, that all values which rules ask about are on the device, both. What is
missed even so has a form that no rule looks for, or facts behind it that no belief replaces; what is wrong then shows
what a belief would cost.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import packages
import precision

HOT, VALUES, POSSIBLE = "hot", "values", "possible"
BELIEFS: dict[str, tuple[str, ...]] = {
    "as it is": (),
    "--confidence possible": (POSSIBLE,),
    "every function hot": (HOT,),
    "every value on the device": (VALUES,),
    "both": (HOT, VALUES),
    "both, --confidence possible": (HOT, VALUES, POSSIBLE),
}


def believe(beliefs: list[str]) -> None:
    """Make the linter of this process believe what it does not know."""
    from torchperf_lint.facts.files.source import SourceFile
    from torchperf_lint.facts.hotness.hot import Hot
    from torchperf_lint.facts.hotness.hotness import Hotness
    from torchperf_lint.facts.values.value import DEVICE, tensor
    from torchperf_lint.model import Confidence

    known, told = Hotness._find_hot, SourceFile.value

    def find_hot(self, path, index):
        found = known(self, path, index)
        region = self.index.outlines[path].regions[index]
        if found is not None or not region.function or not self.around.unguarded(path, index):
            return found
        return Hot("forward", "it is believed to be", "every time", Confidence.LIKELY, path, region.start[0])

    def value(self, node, place):
        found = told(self, node, place)
        if found.kind in ("tensor", "batch"):
            return found._replace(device=DEVICE, confidence=Confidence.CERTAIN)
        return tensor(DEVICE, "it is believed to be one") if found.kind in ("unknown", "nothing") else found

    if HOT in beliefs:
        Hotness._find_hot = find_hot
    if VALUES in beliefs:
        SourceFile.value = value


def lint(beliefs: list[str]) -> int:
    """Lint the current directory with some beliefs, as json."""
    from torchperf_lint.adapters import cli

    believe(beliefs)
    options = ["--isolated", "--exit-zero", "--no-cache", "--jobs", "1", "--output-format", "json"]
    return cli.main([*options, *(["--confidence", "possible"] if POSSIBLE in beliefs else []), "."])


def findings(directory: Path, beliefs: tuple[str, ...]) -> list[precision.Finding]:
    """What the linter finds in a package with some beliefs."""
    command = [sys.executable, str(Path(__file__).resolve()), "--lint", ",".join(beliefs), "."]
    done = subprocess.run(command, cwd=directory, env=packages.HERE, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise SystemExit(done.stderr)
    return [precision.normal(precision.read(one)) for one in json.loads(done.stdout)["findings"]]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("directory", type=Path, help="as for precision.py")
    parser.add_argument("--part", choices=("tuning", "aside", "all"), default="tuning")
    parser.add_argument("--scripts", action="store_true", help="score repositories instead, each in DIR/OWNER+NAME")
    parser.add_argument("--draw", help="one draw only")
    parser.add_argument("--lint", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.lint is not None:
        return lint(options.lint.split(","))
    directories, every = precision.sites_of(options.directory, options.part, options.scripts, options.draw)
    sites = [s for s in every if s.label != "TP" or precision.families_of(s.code)]
    names = sorted({site.place[0] for site in sites})
    print(f"{'':<30}{'recall':>16}{'precision':>16}{'traps fired':>16}")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, beliefs in BELIEFS.items():
            found = pool.map(lambda package, held=beliefs: findings(directories[package], held), names)
            total, _, _ = precision.score(sites, dict(zip(names, found, strict=True)))
            print(precision.line_of(name, total), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
