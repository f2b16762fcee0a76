"""SourceFile x rules -> findings: the only such loop.

Selection, per-file-ignores, suppressions, thresholds and merging by root cause happen here, once, so that every
front end gives the same answer.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from torchperf_lint import catalog, merging, workers
from torchperf_lint.deep_stack import with_a_deep_stack
from torchperf_lint.errors import CannotCheck
from torchperf_lint.facts.constants.options_off import option_off
from torchperf_lint.facts.files import suppressions
from torchperf_lint.facts.files.notebook import NotebookSource
from torchperf_lint.facts.files.other_frameworks import computes_without_torch, is_for_another_device
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.fixes.suppression_edits import removed
from torchperf_lint.facts.hotness.unmentioned import NO_PROGRAM
from torchperf_lint.facts.processes.text_files import TextFile, TextKind, kind_of
from torchperf_lint.facts.syntax import text as texts_of
from torchperf_lint.model import Confidence, Finding, Fix, Location, Problem, Related, Report, Safety
from torchperf_lint.opening import Opened, open_project, relative, shown_path
from torchperf_lint.rule import Rule, SourceRule, TextRule
from torchperf_lint.settings import Settings

logger = logging.getLogger(__name__)
_MARKS = frozenset({b"TPL", b"torchperf-lint"})
"""A text that is not Python and has neither holds no suppression that could be unused."""


@dataclass(frozen=True)
class Target:
    """One project and the files of it that were asked about."""

    root: Path
    """Absolute; facts come from all Python files under it."""
    settings: Settings
    files: tuple[Path, ...]
    """Absolute, sorted."""
    texts: Mapping[Path, str] = field(default_factory=dict)
    """Texts that stand in for what is on disk (standard input, an editor's or flake8's buffer)."""


@dataclass
class _FileResult:
    findings: list[Finding] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    suppressed: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)


def lint(target: Target, honour_suppressions: bool = True, reuse: bool = False) -> Report:
    """Findings in `target.files`, sorted. Never raises for what is in a file.

    `reuse`: take the project as this process opened it before, if it did (for hosts that lint file by file).
    """
    start = time.perf_counter()
    opened = _opened(target, reuse)
    seconds = {"reading and outlining": time.perf_counter() - start}
    report = _run(target, opened, honour_suppressions, seconds)
    opened.keep()
    return report


def lint_at(target: Target, thresholds: Sequence[Confidence]) -> list[Report]:
    """The findings in `target.files` that are at least so sure, for each threshold; the project is opened once."""
    opened = _opened(target)
    targets = [replace(target, settings=replace(target.settings, confidence=one)) for one in thresholds]
    reports = [_run(one, opened, honour_suppressions=True, seconds={}) for one in targets]
    opened.keep()
    return reports


def _run(target: Target, opened: Opened, honour_suppressions: bool, seconds: dict[str, float]) -> Report:
    runner = _Runner(target, opened, honour_suppressions)
    processes = workers.count(target.settings.jobs, len(target.files))
    if processes > 1 and any(kind_of(path.name) is None for path in target.files):
        opened.project.hotness.prepare()  # once, before processes fork off
    results = workers.each(runner.file, target.files, processes)
    return _report(results, len(target.files), seconds)


def _opened(target: Target, reuse: bool = False) -> Opened:
    """The project; an empty one where no Python was asked about, as shell scripts and their like need none."""
    sources = [path for path in target.files if kind_of(path.name) is None]
    if not sources and target.files:
        return Opened(Project([], lambda _: "", complete=False), {}, {}, complete=False)
    texts = {path: text for path, text in target.texts.items() if kind_of(path.name) is None}
    return open_project(target.root, target.settings, sources, texts, reuse)


def _report(results: Sequence[_FileResult], files: int, seconds: dict[str, float]) -> Report:
    for result in results:
        for name, spent in result.seconds.items():
            seconds[name] = seconds.get(name, 0.0) + spent
    return Report(
        tuple(sorted((f for r in results for f in r.findings), key=lambda f: f.sort_key)),
        tuple(sorted((p for r in results for p in r.problems), key=lambda p: p.sort_key)),
        files,
        sum(r.suppressed for r in results),
        seconds=seconds,
        texts={path: text for r in results for path, text in r.texts.items()},
    )


_OF_OTHERS = "TPL0"
"""How codes begin that another linter has, too: temporalio's are TPL001 and on. Ours begin at TPL101, but for one."""


class _Runner:
    """Runs the selected rules over files of one opened project."""

    def __init__(self, target: Target, opened: Opened, honour_suppressions: bool) -> None:
        self.settings = target.settings
        self.root = target.root
        self.texts = target.texts
        self.opened = opened
        self.honour_suppressions = honour_suppressions
        self.codes = target.settings.codes
        self.defaults = frozenset(rule.code for rule in catalog.rule_classes() if rule.default)
        self.rules = [
            rule() for rule in catalog.rule_classes() if issubclass(rule, SourceRule) and rule.code in self.codes
        ]
        self.triggers = tuple(sorted({trigger for rule in self.rules for trigger in rule.triggers}))
        self.text_rules = [
            rule() for rule in catalog.rule_classes() if issubclass(rule, TextRule) and rule.code in self.codes
        ]
        self.keys = frozenset(key.encode() for rule in self.text_rules for key in rule.keys)
        if catalog.UNUSED_SUPPRESSION in self.codes:
            self.keys |= _MARKS

    def file(self, path: Path) -> _FileResult:
        kind = kind_of(path.name)
        return self._text(path, kind) if kind is not None else with_a_deep_stack(partial(self._python, path))

    def _python(self, path: Path) -> _FileResult:
        result = _FileResult()
        name = relative(path, self.root)
        if name in self.opened.refused:
            reason = self.opened.refused[name]
            result.problems.append(Problem(shown_path(path), reason.line, reason.reason))
            return result
        text = self.opened.project.text(name)
        file = SourceFile(
            self.opened.project, name, text, shown_path(path), self.honour_suppressions, self.settings.confidence
        )
        ignored = self.settings.ignored_codes_for(name)
        found: list[Finding] = []
        ours = not computes_without_torch(file.project, name) and not is_for_another_device(name)
        likely = file.may_mention(self.triggers) if ours else frozenset()
        for rule in self.rules:
            if rule.code in ignored or likely.isdisjoint(rule.triggers):
                continue
            if file.mentions(rule.triggers):
                found += [_weighed(finding, file) for finding in self._checked(rule, file, result)]
        self._keep(file, found, ignored, result)
        if result.findings:
            result.texts[file.shown] = text
        notebook = self.opened.notebooks.get(name)
        if notebook is not None:
            result.findings = [_in_cells(finding, notebook) for finding in result.findings]
        return result

    def _text(self, path: Path, kind: TextKind) -> _FileResult:
        """One file that is not Python."""
        result = _FileResult()
        name, shown = relative(path, self.root), shown_path(path)
        try:
            text = self.texts[path] if path in self.texts else texts_of.read_mentioning(path, self.keys)
        except CannotCheck as refused:
            result.problems.append(Problem(shown, refused.line, refused.reason))
            return result
        file = TextFile(name, shown, text, kind)
        ignored = self.settings.ignored_codes_for(name) if text else frozenset()
        found: list[Finding] = []
        for rule in self.text_rules:
            if rule.code not in ignored and any(key in text for key in rule.keys):
                found += self._guarded(rule, shown, result, partial(rule.check_text, file))
        marks = suppressions.parse_text(text) if self.honour_suppressions else suppressions.Suppressions()
        # Weak ones use their comment, too: the reason in it may be what makes them weak.
        used = {match for f in found for match in marks.matches(f.location.line, f.location.line, f.code)}
        kept = [f for f in dict.fromkeys(found) if self._strong_enough(f)]
        open_findings = [f for f in kept if not marks.matching(f.location.line, f.location.line, f.code)]
        result.suppressed = len(kept) - len(open_findings)
        result.findings = merging.merged(open_findings)
        if not result.problems and catalog.UNUSED_SUPPRESSION in self.codes - ignored:
            result.findings += self._unused(file, marks, used, ignored)
        if result.findings:
            result.texts[shown] = text
        return result

    def _checked(self, rule: SourceRule, file: SourceFile, result: _FileResult) -> list[Finding]:
        return self._guarded(rule, file.shown, result, partial(rule.check, file, file.project))

    def _guarded(
        self, rule: Rule, shown: str, result: _FileResult, check: Callable[[], Iterator[Finding]]
    ) -> list[Finding]:
        start = time.perf_counter()
        try:
            return list(check())
        except CannotCheck as reason:
            problem = Problem(shown, reason.line, reason.reason)
            if problem not in result.problems:
                result.problems.append(problem)
            return []
        except Exception as error:
            logger.debug("%s crashed on %s", rule.code, shown, exc_info=True)
            reason_text = f"the rule crashed: {type(error).__name__}: {error}"
            result.problems.append(Problem(shown, None, reason_text, rule.code))
            return []
        finally:
            result.seconds[rule.code] = result.seconds.get(rule.code, 0.0) + time.perf_counter() - start

    def _keep(self, file: SourceFile, found: list[Finding], ignored: frozenset[str], result: _FileResult) -> None:
        kept = [f for f in dict.fromkeys(found) if self._strong_enough(f)]
        marks = file.suppressions
        used: set[tuple[suppressions.Suppression, str | None]] = set()
        open_findings: list[Finding] = []
        for finding in kept:
            matches = list(marks.matches(finding.location.line, finding.location.end_line, finding.code))
            used.update(matches)
            if matches:
                result.suppressed += 1
            else:
                open_findings.append(finding)
        result.findings = merging.merged(open_findings)
        judged = not result.problems and self.opened.complete
        if judged and catalog.UNUSED_SUPPRESSION in self.codes - ignored:
            result.findings += self._unused(file, marks, used, ignored)

    def _strong_enough(self, finding: Finding) -> bool:
        settings = self.settings
        return finding.confidence.at_least(settings.confidence) and finding.severity.at_least(settings.severity)

    def _unused(
        self,
        file: SourceFile | TextFile,
        marks: suppressions.Suppressions,
        used: set[tuple[suppressions.Suppression, str | None]],
        ignored: frozenset[str],
    ) -> Iterator[Finding]:
        """TPL001: only for codes that were run here, so that a narrower selection accuses nobody."""
        ran = self.codes - ignored
        everything = ran >= self.defaults
        for mark, code in marks.ours():
            if (mark, code) in used or code == catalog.UNUSED_SUPPRESSION:
                continue
            silencing = marks.matches(mark.line, mark.line, catalog.UNUSED_SUPPRESSION)
            if any(other != mark or entry is not None for other, entry in silencing):
                continue
            known = [c for c in catalog.known_codes() if code is None or c.startswith(code)]
            if code is not None and not known and code.startswith(_OF_OTHERS):
                continue
            if not (everything if code is None else all(c in ran for c in _asked_of(code, known))):
                continue
            if isinstance(file, TextFile) and known and not any(rule.code in known for rule in self.text_rules):
                continue  # it may be meant for Python that the script writes
            column, end_column = mark.span(code)
            location = Location(file.shown, mark.line, column, mark.line, end_column)
            safety = Safety.SAFE if known else Safety.UNSAFE  # nobody knows whose code that is
            fix = Fix(safety, (removed(file.text, mark, code),)) if isinstance(file, SourceFile) else None
            yield catalog.rule_class(catalog.UNUSED_SUPPRESSION)().unused(location, code, bool(known), fix)  # type: ignore[attr-defined]


def _asked_of(code: str, known: Sequence[str]) -> Iterator[str]:
    """The rules that have to find nothing before a comment is unused: of a prefix those that are on by default."""
    return (c for c in known if c == code or catalog.rule_class(c).default)


def _weighed(finding: Finding, file: SourceFile) -> Finding:
    """A finding, only `possible` where it says how often a line runs that no program of the project gets to, or none
    that is started without an option which is off by default.

    Where the reason says that of a module that is left over, the rule has weighed it.
    """
    if not finding.why_hot or finding.confidence is Confidence.POSSIBLE or NO_PROGRAM in finding.why_hot:
        return finding
    project, line, column = file.project, finding.location.line, finding.location.column
    left = project.hotness.is_left(file.path, (line, column)) or project.is_left_off(file.path, line, column)
    if left:
        return replace(finding, confidence=Confidence.POSSIBLE)
    option = option_off(project, file.path, line)
    if option is None:
        return finding
    told = f"{finding.why_hot}; only where `{option}` is asked for"
    return replace(finding, confidence=Confidence.POSSIBLE, why_hot=told)


def _in_cells(finding: Finding, notebook: NotebookSource) -> Finding:
    def placed(places: tuple[Related, ...]) -> tuple[Related, ...]:
        own = finding.location.path
        return tuple(
            replace(r, location=_in_cell(r.location, notebook)) if r.location.path == own else r for r in places
        )

    related, callers = placed(finding.related), placed(finding.callers)
    loop = _in_cell(finding.loop, notebook) if finding.loop is not None else None
    at = _in_cell(finding.location, notebook)
    happens = tuple(_in_cell(place, notebook) for place in finding.happens)
    return replace(finding, location=at, related=related, callers=callers, loop=loop, happens=happens)


def _in_cell(location: Location, notebook: NotebookSource) -> Location:
    cell, line = notebook.locate(location.line)
    end_line = line + location.end_line - location.line
    return replace(location, line=line, end_line=end_line, cell=cell)
