"""Expectations written on the lines of fixtures, and how findings are held against them.

`# expect: TPL101` says that a finding of that code starts on the line; `TPL301[warning]` also says how severe it is.
`# also: TPL201` says that the line is a related place of a finding of that code elsewhere.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from torchperf_lint import catalog
from torchperf_lint.lint import Target, lint
from torchperf_lint.model import Finding, Report
from torchperf_lint.settings import Settings

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"
RULE_FOLDERS = sorted(path for path in FIXTURES.glob("tpl[0-9]*") if path.is_dir())
PROJECTS = sorted(path for path in FIXTURES.glob("projects/*") if path.is_dir())
REFERENCES = sorted(path for path in FIXTURES.glob("reference/*") if path.is_dir())

_MARK = re.compile(r"#\s*(expect|also):\s*(.*?)\s*$")
_ENTRY = re.compile(r"(TPL\d{3})(?:\[(error|warning|info)\])?")


class Expected(NamedTuple):
    """A code at a line of a file; `severity` is None where the fixture leaves it open."""

    path: str
    line: int
    code: str
    severity: str | None = None


class Marks(NamedTuple):
    """What the comments of some files say."""

    findings: tuple[Expected, ...]
    related: tuple[Expected, ...]


def marks_of_text(text: str, path: str) -> Marks:
    """Raises ValueError for a comment that looks like an expectation and is none."""
    found: dict[str, list[Expected]] = {"expect": [], "also": []}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT:
            continue
        mark = _MARK.search(token.string)
        if mark is None:
            if re.search(r"\b(expect|also)\b\s*:?\s*TPL", token.string):
                raise ValueError(f"{path}:{token.start[0]}: not an expectation: {token.string}")
            continue
        for entry in mark[2].split(","):
            code = _ENTRY.fullmatch(entry.strip())
            if code is None:
                raise ValueError(f"{path}:{token.start[0]}: not a code: {entry.strip()!r}")
            found[mark[1]].append(Expected(path, token.start[0], code[1], code[2]))
    return Marks(tuple(found["expect"]), tuple(found["also"]))


def marks_of(root: Path, files: Iterable[Path]) -> Marks:
    """The marks of all files, with paths relative to `root`."""
    each = [marks_of_text(path.read_text(encoding="utf-8"), path.relative_to(root).as_posix()) for path in files]
    return Marks(tuple(e for m in each for e in m.findings), tuple(e for m in each for e in m.related))


def run(root: Path, files: Iterable[Path], settings: Settings | None = None) -> Report:
    """Lint some files of the project at `root`, with default settings unless others are given.

    In a rule's own folder the rule runs, though it may be off by default.
    """
    own = tuple(rule.code for rule in catalog.rule_classes() if root.name.startswith(f"{rule.code.lower()}_"))
    return lint(
        Target(root.resolve(), settings or Settings(extend_select=own), tuple(sorted(path.resolve() for path in files)))
    )


def differences(root: Path, files: Iterable[Path]) -> list[str]:
    """Lint and compare; a line in words for each thing that is missing, unexpected, or otherwise than expected."""
    files = sorted(files)
    marks, report = marks_of(root, files), run(root, files)
    by_place: dict[tuple[str, int, str], list[Finding]] = {}
    for finding in report.findings:
        place = (_path(finding.location.path, root), finding.location.line, finding.code)
        by_place.setdefault(place, []).append(finding)
    expected = {(e.path, e.line, e.code): e.severity for e in marks.findings}
    lines = [f"could not be checked: {problem}" for problem in report.problems]
    for place in sorted(expected.keys() | by_place.keys()):
        lines += _difference(root, place, expected, by_place.get(place, []))
    related = {(_path(r.location.path, root), r.location.line, f.code) for f in report.findings for r in f.related}
    for e in marks.related:
        if (e.path, e.line, e.code) not in related:
            lines.append(f"not among the related places of a {e.code}: {_shown(root, e.path, e.line)}")
    return lines


def _difference(
    root: Path,
    place: tuple[str, int, str],
    expected: dict[tuple[str, int, str], str | None],
    findings: list[Finding],
) -> list[str]:
    path, line, code = place
    shown = _shown(root, path, line)
    if not findings:
        return [f"missing    {code} {shown}"]
    if place not in expected:
        return [f"unexpected {code} {shown}\n             {f.message}\n             hot: {f.why_hot}" for f in findings]
    wanted, got = expected[place], {str(f.severity) for f in findings}
    return [f"severity   {code} {shown}: {', '.join(sorted(got))}, not {wanted}"] if wanted and got != {wanted} else []


def _path(path: str, root: Path) -> str:
    return (Path.cwd() / path).resolve().relative_to(root.resolve()).as_posix()


def _shown(root: Path, path: str, line: int) -> str:
    text = (root / path).read_text(encoding="utf-8").splitlines()[line - 1].partition("# expect:")[0].strip()
    return f"{path}:{line}: {text}"
