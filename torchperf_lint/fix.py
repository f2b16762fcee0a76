"""Fixes of findings, applied until nothing changes, and written only where that is safe.

One fix is all of its edits or none. Of two that overlap the first goes in now, the other after the text has been
linted again. A result that is not Python any more is not taken, whichever rule made it; rules that undo each
other's work are named and the file stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from torchperf_lint.errors import CannotCheck, CannotFix
from torchperf_lint.facts.files import notebook
from torchperf_lint.facts.fixes import notebook_edits
from torchperf_lint.facts.syntax.syntax import parse
from torchperf_lint.facts.syntax.text import Stored, stored
from torchperf_lint.lint import Target, lint
from torchperf_lint.model import Edit, Finding, Problem, Report
from torchperf_lint.opening import shown_path
from torchperf_lint.writing import write

MOST_PASSES = 50
"""More than that many rounds of linting and fixing are a quarrel between rules."""
Attempt = Callable[[Sequence[Edit]], str]
"""Makes edits; raises CannotFix or CannotCheck where what comes out cannot stand."""
Plan = Callable[[Sequence[Finding], str, Sequence[int]], Sequence[Finding]]
"""Findings with the fixes to apply, from those of a file, its text as linted, and the lines where cells begin."""


# -- the pure part: one text, one pass -------------------------------------------------------------------


@dataclass(frozen=True)
class Pass:
    """What one pass over one text gives."""

    text: str
    fixed: tuple[Finding, ...] = ()
    refused: tuple[tuple[Finding, str], ...] = ()
    """Findings whose fixes cannot be applied at all, and why."""


def apply(text: str, findings: Iterable[Finding], unsafe: bool = False) -> Pass:
    """Python with the fixes of `findings` in it, as many as fit together: the rest is for the next pass."""
    return one_pass(text, findings, unsafe, lambda edits: _python(edited(text, edits)))


def edited(text: str, edits: Iterable[Edit]) -> str:
    """`text` with edits that do not overlap."""
    parts: list[str] = []
    end = 0
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        parts += text[end : edit.start], edit.text
        end = edit.end
    return "".join([*parts, text[end:]])


def one_pass(text: str, findings: Iterable[Finding], unsafe: bool, attempt: Attempt) -> Pass:
    """The same for a text whose edits `attempt` makes."""
    chosen: list[Finding] = []
    taken: list[Edit] = []
    for finding in sorted(findings, key=_first_edit):
        edits = finding.fix.edits if finding.fix is not None and finding.fix.applies(unsafe) else ()
        if edits and not any(edit.touches(other) for edit in edits for other in taken):
            chosen.append(finding)
            taken += edits
    if not chosen:
        return Pass(text)
    try:
        return Pass(attempt(taken), tuple(chosen))
    except (CannotFix, CannotCheck):
        return _one_by_one(text, chosen, attempt)


def _one_by_one(text: str, findings: Sequence[Finding], attempt: Attempt) -> Pass:
    """Those that can stand together; those that cannot stand alone are refused, others wait for the next pass."""
    kept: list[Finding] = []
    refused: list[tuple[Finding, str]] = []
    done = text
    for finding in findings:
        try:
            done = attempt(_edits([*kept, finding]))
            kept.append(finding)
        except (CannotFix, CannotCheck):
            try:
                attempt(_edits([finding]))
            except (CannotFix, CannotCheck) as alone:
                refused.append((finding, str(alone)))
    return Pass(done, tuple(kept), tuple(refused))


def _edits(findings: Sequence[Finding]) -> list[Edit]:
    return [edit for finding in findings if finding.fix is not None for edit in finding.fix.edits]


def _first_edit(finding: Finding) -> tuple[int, tuple[object, ...]]:
    return (finding.fix.edits[0].start if finding.fix is not None and finding.fix.edits else 0, finding.sort_key)


def _python(text: str) -> str:
    try:
        parse(text)
    except CannotCheck as error:
        raise CannotFix(f"the text would not be Python any more: {error.reason}") from None
    return text


# -- files: passes until nothing changes -----------------------------------------------------------------


@dataclass
class Change:
    """A file with what fixing made of it."""

    path: Path
    shown: str
    before: str
    """The text on disk; of a notebook, its JSON."""
    after: str
    stored: Stored | None
    """What stands on disk; None for a text that stands in for it (standard input)."""
    fixed: list[Finding] = field(default_factory=list)
    earlier: dict[str, int] = field(default_factory=dict)
    """Every text it has been, and how many findings had been fixed then."""
    latest: tuple[Finding, ...] = ()
    """What the last pass fixed; empty where it changed nothing."""


@dataclass(frozen=True)
class Outcome:
    """What is left to report, and what became of the files."""

    report: Report
    """Of the texts as they are now; its `fixed` are the findings that are gone."""
    changes: tuple[Change, ...] = ()


def fix(target: Target, unsafe: bool = False, to_disk: bool = True, plan: Plan | None = None) -> Outcome:
    """Lint, fix, and lint again until nothing changes; then write, unless `to_disk` is False.

    Texts that stand in for files are never written: their Change holds them. What cannot be fixed or written is
    in the report's problems, and its findings stay in the report.
    """
    course = _Course(target, unsafe, plan)
    report = course.run()
    changes = [change for change in course.changes.values() if change.after != change.before]
    if to_disk:
        failed = [change for change in changes if not _written(change, course.problems)]
        if failed:
            changes = [change for change in changes if change not in failed]
            report = lint(replace(target, texts={**target.texts, **{c.path: c.after for c in changes}}))
    gone = sorted((finding for change in changes for finding in change.fixed), key=lambda f: f.sort_key)
    problems = sorted({*report.problems, *course.problems.values()}, key=lambda p: p.sort_key)
    return Outcome(replace(report, problems=tuple(problems), fixed=tuple(gone)), tuple(changes))


def _written(change: Change, problems: dict[tuple[str, str], Problem]) -> bool:
    if change.stored is None:
        return True
    try:
        write(change.path, change.stored.data, change.stored.encoded(change.after))
    except CannotFix as error:
        problems[change.shown, ""] = Problem(change.shown, None, str(error), task="fixed")
        return False
    return True


class _Course:
    """The passes over one project's files."""

    def __init__(self, target: Target, unsafe: bool, plan: Plan | None) -> None:
        self.target = target
        self.unsafe = unsafe
        self.plan = plan
        self.changes: dict[str, Change] = {}
        self.problems: dict[tuple[str, str], Problem] = {}
        """By path and rule: what is refused in every pass is told once."""
        self.given_up: set[str] = set()

    def run(self) -> Report:
        """The report on what is left."""
        for _ in range(MOST_PASSES):
            report = self._lint()
            changed = [path for path in self.target.files if self._advance(path, report)]
            if not changed:
                return report
        for change in self.changes.values():
            if change.latest:
                self._give_up(change, change.latest, f"is not done after {MOST_PASSES} passes")
        return self._lint()

    def _lint(self) -> Report:
        texts = {change.path: change.after for change in self.changes.values()}
        return lint(replace(self.target, texts={**self.target.texts, **texts}))

    def _advance(self, path: Path, report: Report) -> bool:
        """Whether the file's text is another now."""
        shown = shown_path(path)
        if shown in self.given_up:
            return False
        # What was refused before may be possible by now.
        self.problems = {key: problem for key, problem in self.problems.items() if key[0] != shown}
        if shown not in report.texts:
            return False
        if shown in self.changes:
            self.changes[shown].latest = ()
        linted = report.texts[shown]
        findings: Sequence[Finding] = [f for f in report.findings if f.location.path == shown]
        if self.plan is None and not any(f.fix is not None and f.fix.applies(self.unsafe) for f in findings):
            return False
        try:
            change = self._change(path, shown, linted)
        except (CannotFix, CannotCheck) as error:
            self.given_up.add(shown)
            self.problems[shown, ""] = Problem(shown, None, str(error), task="fixed")
            return False
        if self.plan is not None:
            cells = notebook.to_source(change.after).starts if path.suffix == ".ipynb" else ()
            findings = self.plan(findings, linted, cells)
        done = one_pass(change.after, findings, self.unsafe, _attempt(path, change.after))
        for finding, reason in done.refused:
            problem = Problem(shown, finding.location.line, reason, finding.code, task="fixed")
            self.problems.setdefault((shown, finding.code), problem)
        return self._took(change, done)

    def _change(self, path: Path, shown: str, linted: str) -> Change:
        if shown not in self.changes:
            held = None if path in self.target.texts else stored(path)
            text = self.target.texts[path] if held is None else held.text
            now = notebook.to_source(text).text if path.suffix == ".ipynb" else text
            if now != linted:
                raise CannotFix("it changed on disk meanwhile")
            self.changes[shown] = Change(path, shown, text, text, held, earlier={text: 0})
        return self.changes[shown]

    def _took(self, change: Change, done: Pass) -> bool:
        change.latest = done.fixed
        if done.text == change.after:
            return False
        change.fixed += done.fixed
        change.after = done.text
        if done.text in change.earlier:
            since = change.fixed[change.earlier[done.text] :]
            self._give_up(change, since, "comes back to where it was")
        else:
            change.earlier[done.text] = len(change.fixed)
        return True

    def _give_up(self, change: Change, quarrel: Iterable[Finding], how: str) -> None:
        codes = sorted({finding.code for finding in quarrel})
        who = f"{' and '.join(codes)} undo each other's changes" if len(codes) > 1 else f"{codes[0]} fixes it forever"
        self.given_up.add(change.shown)
        self.problems[change.shown, ""] = Problem(change.shown, None, f"fixing {how}: {who}", task="fixed")
        change.after, change.latest = change.before, ()
        change.fixed.clear()


def _attempt(path: Path, raw: str) -> Attempt:
    if path.suffix != ".ipynb":
        return lambda edits: _python(edited(raw, edits))

    def in_cells(edits: Sequence[Edit]) -> str:
        done = notebook_edits.rewritten(raw, edits)
        _python(notebook.to_source(done).text)
        return done

    return in_cells
