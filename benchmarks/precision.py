"""Recall, precision and traps fired on the truth set, for torchperf-lint and its peers.

`python benchmarks/precision.py PACKAGES [--part tuning|aside|all]` prints one table of tools and one of our rules.
See `truth/README.md` for what a site is and how it was labelled.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import random
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
import packages

ROOT = Path(__file__).parents[1]
FAMILIES: dict[str, str] = {
    "reads": "TPL101 TPL102 TPL103 TPL104 TPL105 TPL106 TPL107 TPL108 TPL112 TPL113 TPL119 TPL120 TPL122 KP003 KP017"
    " TPL852",
    "sizes": "TPL109 TPL110 TPL114",
    "synchronize": "TPL115 TPL756",
    "distributions": "TPL116",
    "masks": "TPL117",
    "linalg": "TPL118",
    "moves": "TPL111 TPL201 TPL202 TPL203 TPL204 TPL208 TPL251 TPL252 TPL254 TPL302 KP002 KP004 KP005 KP013 KP015",
    "loader": "TPL301 TPL302 TPL305 TPL313 TPL314 TPL871 KP001 KP002 KP014 TOR401",
    "items": "TPL307 TPL308 TPL319",
    "padding": "TPL320",
    "loader settings": "TPL303 TPL315 TPL318 TPL323",
    "maps": "TPL321",
    "host only": "TPL560",
    "iterator": "TPL306 TPL324",
    "allocator": "TPL401 TPL402 TPL407 KP011",
    "graph": "TPL403 TPL404 TPL405",
    "bytes": "TPL205",
    "tables": "TPL252 TPL253",
    "drawn by numpy": "TPL252 TPL659",
    "arrays": "TPL255 KP013",
    "scalars of the device made a tensor": "TPL103 TPL252 TPL255",  # `torch.tensor([t])`: readers call it each of these
    "precision": "TPL504",
    "checkpoint": "TPL209 KP016",
    "amp": "TPL505 TPL507 TOR101",
    "debug": "TPL551 TPL552 TPL555 TPL558",
    "zero_grad": "TPL601 TPL605 KP010 TOR402",
    "device figures": "TPL408",
    "layers": "TPL510",
    "loops": "TPL651 TPL652 TPL653 KP009",
    "attention": "TPL654 TPL655 TPL806",
    "updates": "TPL602 TPL603 TPL604 TPL607",
    "grad mode": "TPL606 TPL801",
    "DataParallel": "TPL751",
    "inference": "TPL803 TPL804 TPL805 TPL808",
    "compile": "TPL701 TPL702 TPL703 TPL704 TPL706 TPL709",
    "gradients exchanged": "TPL752 TPL753 TPL756 TPL757 TPL758 TPL762",
    "exchanged to be shown": "TPL756 TPL876",
    "backends": "TPL501 TPL556",
    "trainers": "TPL851 TPL853 TPL854 TPL873 TPL875",
}
"""Codes that speak about one thing: a finding counts for a site if both are of one family and overlap. Which of several
codes of a family a tool chose is not judged."""
ASIDE = frozenset(
    line for name in ("aside.txt", "aside_families.txt") for line in (packages.TRUTH / name).read_text("utf-8").split()
)
SCRIPTS_TUNED = frozenset(
    "first second third fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth"
    " sixteenth seventeenth eighteenth nineteenth twentieth twenty-first twenty-second twenty-third"
    " twenty-fourth twenty-fifth twenty-sixth twenty-seventh twenty-eighth".split()
)
"""Draws of `scripts.tsv` that may be looked at while rules are changed."""
SCRIPTS_ASIDE = frozenset({"fourth"})
_DRAWN = "second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth".split()
LIBRARIES = frozenset({"libraries"}) | {f"libraries-{nth}" for nth in _DRAWN}
"""Files of packages beside those of `packages.txt`: `--part all --draw libraries`."""
Place = tuple[str, str]
"""(NAME-VERSION, path)."""


class Site(NamedTuple):
    """A labelled place; `whole` where every line of its file was labelled."""

    place: Place
    line: int
    end_line: int
    code: str
    label: str
    whole: bool


class Finding(NamedTuple):
    """What a tool reports: a code and the spans of lines it names, the main one first."""

    code: str
    spans: tuple[tuple[str, int, int], ...]


@dataclass
class Score:
    """Counts over sites and whole files."""

    found: int = 0
    wanted: int = 0
    fired: int = 0
    traps: int = 0
    right: int = 0
    wrong: int = 0
    files: dict[Place, list[bool]] = field(default_factory=lambda: defaultdict(list))
    """For each file whether its sites worth a change were reported."""

    @property
    def each_file(self) -> float | None:
        """Recall where each file counts once, however many sites it holds: one long file cannot decide it."""
        shares = [sum(found) / len(found) for found in self.files.values()]
        return sum(shares) / len(shares) if shares else None

    @property
    def recall(self) -> float | None:
        """Share of sites worth a change that were reported."""
        return self.found / self.wanted if self.wanted else None

    @property
    def precision(self) -> float | None:
        """Share of right ones among the findings in files labelled whole, borderline left out."""
        return self.right / (self.right + self.wrong) if self.right + self.wrong else None

    @property
    def trapped(self) -> float | None:
        """Share of sites not worth a change that were reported."""
        return self.fired / self.traps if self.traps else None


def families_of(code: str) -> set[str]:
    return {name for name, codes in FAMILIES.items() if code in codes.split()}


def aside(place: Place) -> bool:
    """Whether a file is never looked at while rules are tuned: see `truth/README.md`."""
    return "/".join(place) in ASIDE


def read_scripts(directories: dict[str, Path], part: str, draw: str | None = None) -> list[Site]:
    """The labelled sites of repositories of training scripts, whole files. `aside`: the fourth draw, read twice."""
    patterns = {"tuning": SCRIPTS_TUNED, "aside": SCRIPTS_ASIDE, "all": SCRIPTS_TUNED | SCRIPTS_ASIDE | LIBRARIES}[part]
    patterns = frozenset({draw}) & patterns if draw else patterns - LIBRARIES
    first = list(_script_sites("scripts.tsv", directories, patterns))
    second = list(_script_sites("scripts_second.tsv", directories, patterns))
    read_twice = {site.place for site in second}
    once = [site for site in first if site.place not in read_twice]
    return once + agreed([site for site in first if site.place in read_twice], second)


def _script_sites(table: str, directories: dict[str, Path], patterns: frozenset[str]) -> Iterator[Site]:
    for (name, path), line, row in _rows(table):
        place = name.rpartition("-")[0], path
        if place[0] not in directories or row["pattern"] not in patterns:
            continue
        if line and _digest(directories[place[0]] / path, line) != row["sha1"]:
            raise SystemExit(f"{'/'.join(place)}:{line} is not the line that was labelled")
        yield Site(place, line, int(row["end_line"]), row["code"], row["label"], whole=True)


def agreed(first: list[Site], second: list[Site]) -> list[Site]:
    """Two readings of the same whole files as one: worth a change where both say so, else BORDERLINE.

    Two rows are about one place where they overlap and their codes are of one family.
    """
    sites = []
    for site in first:
        labels = {other.label for other in second if site.place == other.place and _same_place(site, other)}
        sites.append(site if site.label in labels | {"NONE"} else site._replace(label="BORDERLINE"))
    for other in second:
        if not any(other.place == site.place and _same_place(site, other) for site in first):
            sites.append(other if other.label == "NONE" else other._replace(label="BORDERLINE"))
    return sites


def read_sites(directories: dict[str, Path], part: str, draw: str | None = None) -> list[Site]:
    """The labelled sites of a part, BORDERLINE where two readers differ; a line that changed since is an error.

    `draw`: only the files labelled whole that were drawn so (`eighth`).
    """
    sites = []
    again = {(place, line, row["code"]): row["label"] for place, line, row in _rows("files_second.tsv")}
    for table in ("sites.tsv", "files.tsv", "families.tsv"):
        for place, line, row in _rows(table):
            if draw in {None, row["pattern"]} and (part == "all" or (part == "aside") == aside(place)):
                if line and _digest(directories[place[0]] / place[1], line) != row["sha1"]:
                    raise SystemExit(f"{'/'.join(place)}:{line} is not the line that was labelled")
                whole = row["stratum"] == "whole"
                second = again.pop((place, line, row["code"]), row["label"]) if whole else row["label"]
                label = row["label"] if second == row["label"] else "BORDERLINE"
                sites.append(Site(place, line, int(row["end_line"]), row["code"], label, whole))
    # What the first reader of a whole file did not list, and the second one would.
    for (place, line, code), label in again.items() if draw is None else ():
        if label != "FP" and (part == "all" or (part == "aside") == aside(place)):
            sites.append(Site(place, line, line, code, "BORDERLINE", whole=True))
    return once_each(sites)


def _rows(table: str) -> Iterator[tuple[Place, int, dict[str, str]]]:
    """The place, the 1-based line (0: the whole file) and the columns of each row of a table."""
    with (packages.TRUTH / table).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            yield (f"{row['package']}-{row['version']}", row["path"]), int(row["line"]), row


def once_each(sites: list[Site]) -> list[Site]:
    """The sites with each place once: one drawn alone may lie in a file that was later labelled as a whole.

    Where the two readings differ the place is BORDERLINE, as wherever readers do.
    """
    whole: dict[Place, list[Site]] = defaultdict(list)
    for site in sites:
        if site.whole:
            whole[site.place].append(site)
    kept: list[Site] = []
    split: set[Site] = set()
    for site in sites:
        if site.whole or site.place not in whole:
            kept.append(site)
            continue
        again = [other for other in whole[site.place] if _same_place(site, other)]
        if again and site.label not in {other.label for other in again}:
            split.update(again)
        elif not again:
            kept.append(site if site.label == "FP" else site._replace(label="BORDERLINE"))
    return [site._replace(label="BORDERLINE") if site in split else site for site in kept]


def _same_place(one: Site, other: Site) -> bool:
    overlap = one.line <= other.end_line and other.line <= one.end_line
    return overlap and bool(families_of(one.code) & families_of(other.code))


def _digest(path: Path, line: int) -> str:
    text = path.read_text(encoding="utf-8", errors="replace").splitlines()[line - 1]
    return hashlib.sha1(text.strip().encode()).hexdigest()


def ours(directory: Path, paths: list[str]) -> list[Finding]:
    del paths
    command = [sys.executable, "-m", "torchperf_lint", "--isolated", "--exit-zero", "--output-format", "json", "."]
    done = subprocess.run(command, cwd=directory, env=packages.HERE, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise SystemExit(done.stderr)
    return [read(one) for one in json.loads(done.stdout)["findings"]]


def read(one: dict[str, Any]) -> Finding:
    """A finding of ours from its json, with the places that it names beside its own."""
    others = [(other["path"], other["line"], other["end_line"]) for other in one["related"] + one["callers"]]
    return Finding(one["code"], ((one["path"], one["line"], one["end_line"]), *others))


def hotpath(*options: str) -> Callable[[Path, list[str]], list[Finding]]:
    """hotpath-ai; by default it hides its heuristic findings."""

    def run(directory: Path, paths: list[str]) -> list[Finding]:
        del paths
        command = [str(Path(sys.executable).parent / "hotpath"), "analyze", ".", "--format", "json", *options]
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
        return [
            Finding(one["rule_id"], ((file["path"], one["line"], one["line"]),))
            for file in json.loads(done.stdout)["files"]
            for one in file["findings"]
        ]

    return run


_TORCHFIX = re.compile(r"^(.+?):(\d+):\d+: (TOR\d+)", re.MULTILINE)


def torchfix(directory: Path, paths: list[str]) -> list[Finding]:
    """TorchFix with all rules; on the files with sites only, as it takes minutes for a package."""
    command = [str(Path(sys.executable).parent / "torchfix"), "--select", "ALL", *paths]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    return [Finding(code, ((path, int(line), int(line)),)) for path, line, code in _TORCHFIX.findall(done.stdout)]


def score(sites: Iterable[Site], findings: dict[str, list[Finding]]) -> tuple[Score, dict[str, Score], list[str]]:
    """The totals, those by code (a site's code; a finding's, for precision), and what went wrong, in words."""
    total = Score()
    by_code: dict[str, Score] = defaultdict(Score)
    remarks: list[str] = []
    spans = _spans(findings)
    whole: dict[Place, list[Site]] = defaultdict(list)
    for site in sites:
        if site.whole:
            whole[site.place].append(site)
        reported = _reported(site, spans)
        for one in (total, by_code[site.code]):
            if site.label == "TP":
                one.wanted += 1
                one.found += reported
                one.files[site.place].append(reported)
            elif site.label == "FP":
                one.traps += 1
                one.fired += reported
        if (site.label == "TP" and not reported) or (site.label == "FP" and reported):
            remarks.append(f"{'missed' if site.label == 'TP' else 'trap'} {site.code} {_where(site.place, site.line)}")
    for package, reported_here in findings.items():
        for finding in reported_here:
            path, line, _ = finding.spans[0]
            place = (package, path)
            if place not in whole or not families_of(finding.code):
                continue
            label = _label(finding, whole[place])
            for one in (total, by_code[finding.code]):
                one.right += label == "TP"
                one.wrong += label == "FP"
            if label == "FP":
                remarks.append(f"wrong {finding.code} {_where(place, line)}")
    return total, by_code, remarks


def _where(place: Place, line: int) -> str:
    return f"{place[0]}/{place[1]}:{line}"


def _spans(findings: dict[str, list[Finding]]) -> dict[Place, list[tuple[int, int, str]]]:
    table: dict[Place, list[tuple[int, int, str]]] = defaultdict(list)
    for package, reported in findings.items():
        for finding in reported:
            for path, line, end in finding.spans:
                table[package, path].append((line, end, finding.code))
    return table


def _reported(site: Site, spans: dict[Place, list[tuple[int, int, str]]]) -> bool:
    return any(
        line <= site.end_line and site.line <= end and families_of(code) & families_of(site.code)
        for line, end, code in spans.get(site.place, ())
    )


def _label(finding: Finding, sites: list[Site]) -> str:
    """What a file labelled whole says of a finding in it: all that is not listed there is wrong."""
    labels = {
        site.label
        for path, line, end in finding.spans
        for site in sites
        if path == site.place[1] and line <= site.end_line and site.line <= end
        if families_of(finding.code) & families_of(site.code)
    }
    return next((label for label in ("TP", "BORDERLINE") if label in labels), "FP")


def _percent(share: float | None, part: int, whole: int) -> str:
    return "-" if share is None else f"{share:.2f} ({part}/{whole})"


def interval(files: dict[Place, list[bool]], draws: int = 2000) -> tuple[float, float]:
    """Bounds between which recall falls in 95 % of draws (with replacement) of as many files."""
    pool, chooser = list(files.values()), random.Random(0)
    shares = []
    for _ in range(draws):
        drawn = [found for sites in chooser.choices(pool, k=len(pool)) for found in sites]
        shares.append(sum(drawn) / len(drawn))
    shares.sort()
    return shares[draws // 40], shares[-draws // 40]


def line_of(name: str, score: Score) -> str:
    return "".join(
        [
            f"{name:<30}",
            f"{_percent(score.recall, score.found, score.wanted):>16}",
            f"{_percent(score.precision, score.right, score.right + score.wrong):>16}",
            f"{_percent(score.trapped, score.fired, score.traps):>16}",
        ]
    )


TOOLS: dict[str, Callable[[Path, list[str]], list[Finding]]] = {
    "torchperf-lint": ours,
    "hotpath-ai": hotpath(),
    "hotpath-ai, heuristics too": hotpath("--include-heuristics"),
    "torchfix, all rules": torchfix,
}


def sites_of(directory: Path, part: str, scripts: bool, draw: str | None) -> tuple[dict[str, Path], list[Site]]:
    """Where each package, or repository of scripts, was unpacked below a directory, and the sites to score."""
    if scripts:
        directories = {path.name.replace("+", "/"): path for path in directory.iterdir() if "+" in path.name}
        return directories, read_scripts(directories, part, draw)
    directories = packages.unpacked(directory)
    return directories, read_sites(directories, part, draw)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("directory", type=Path, help="where `benchmarks/packages.py` unpacked the packages")
    parser.add_argument("--part", choices=("tuning", "aside", "all"), default="tuning")
    parser.add_argument("--only-ours", action="store_true", help="leave the peers out")
    parser.add_argument("--verbose", action="store_true", help="name what was missed, wrong, or a trap")
    parser.add_argument("--scripts", action="store_true", help="score repositories instead, each in DIR/OWNER+NAME")
    parser.add_argument("--draw", help="one draw only: `pattern` in truth/scripts.tsv or files.tsv")
    options = parser.parse_args()
    directories, every = sites_of(options.directory, options.part, options.scripts, options.draw)
    # A site whose code no tool of the table claims to find counts for nobody; a finding there is still wrong.
    sites = [s for s in every if s.label != "TP" or families_of(s.code)]
    print(f"{len(sites)} rows of part {options.part!r}{' of the scripts' if options.scripts else ''}: ", end="")
    print(", ".join(f"{sum(s.label == label for s in sites)} {label}" for label in ("TP", "FP", "BORDERLINE")))
    unclaimed = [s.code for s in every if s not in sites]
    print(f"left out, as no rule is about them yet: {', '.join(unclaimed) or 'none'}")
    print(f"{'':<30}{'recall':>16}{'precision':>16}{'traps fired':>16}")
    rules: dict[str, Score] = {}
    notes: list[str] = []
    for name, tool in TOOLS.items():
        if options.only_ours and name != "torchperf-lint":
            continue
        findings = {}
        for package in sorted({site.place[0] for site in sites}):
            paths = sorted({site.place[1] for site in sites if site.place[0] == package})
            findings[package] = [normal(f) for f in tool(directories[package], paths)]
        total, by_code, remarks = score(sites, findings)
        print(line_of(name, total), flush=True)
        if total.each_file is not None:
            low, high = interval(total.files)
            print(f"  recall, each file once: {total.each_file:.2f} of {len(total.files)} files", end="; ")
            print(f"over sites, had other files been drawn: {low:.2f} to {high:.2f} (95 %)")
        if name == "torchperf-lint":
            rules, notes = by_code, remarks
    print("\ntorchperf-lint, by code (recall and traps: of the site; precision: of the finding)")
    for code, one in sorted(rules.items()):
        print(line_of(code, one))
    if options.verbose:
        print(*["", *sorted(notes)], sep="\n")
    return 0


def normal(finding: Finding) -> Finding:
    return Finding(finding.code, tuple((path.removeprefix("./"), line, end) for path, line, end in finding.spans))


if __name__ == "__main__":
    sys.exit(main())
