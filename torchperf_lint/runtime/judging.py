"""From events files to judged findings: what was linted, what ran, and whether they are still the same text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from torchperf_lint import verdict
from torchperf_lint.events import RawRun, Record, UnreadableRecordError, Writer, read
from torchperf_lint.evidence import Evidence
from torchperf_lint.lint import Target, lint_at
from torchperf_lint.model import Confidence, Finding, Location, Outcome, Problem, Report
from torchperf_lint.paths import Homes, collect
from torchperf_lint.run_report import RunReport
from torchperf_lint.runtime.diagnose import breakdown, diagnose
from torchperf_lint.runtime.reading import evidence_of
from torchperf_lint.runtime.stored import restored, stored
from torchperf_lint.settings import shown


class Linted(NamedTuple):
    """What there is to say of some files before anything is known of the run."""

    findings: Sequence[Finding]
    problems: Sequence[Problem]
    doubtful: Sequence[Finding] = ()
    """What is only `possible`, and therefore shown where the run confirms it."""


Lint = Callable[[Sequence[Path]], Linted]


def read_all(paths: Iterable[str]) -> tuple[list[RawRun], list[Problem]]:
    """Those of the files that can be read, and why the others cannot."""
    runs, problems = [], []
    for path in paths:
        try:
            runs.append(read(path))
        except UnreadableRecordError as error:
            problems.append(Problem(path, None, str(error)))
        except OSError as error:
            problems.append(Problem(path, None, f"cannot be read: {error.strerror}"))
    return runs, problems


def judge(runs: Sequence[RawRun], lint: Lint, more: Iterable[Path] = (), problems: Iterable[Problem] = ()) -> RunReport:
    """What the run says about the findings its record keeps, or where it keeps none about those of its sources now.

    `more`: files to lint besides those that ran.
    """
    run = evidence_of(runs)
    cwd = Path(runs[0].header.get("cwd", "."))
    kept = next((r.findings for r in runs if r.findings is not None), None)
    said = list(problems)
    if kept is None:
        linted = lint([*_sources(run, cwd), *more])
        said += linted.problems
    else:
        linted = Linted([restored(finding) for finding in kept], ())
    changed = verdict.changed_sources(run, cwd) if kept is None else ()
    findings = verdict.judged(linted.findings, run, changed)
    findings = (*findings, *_proven(verdict.judged(linted.doubtful, run, changed), findings))
    diagnoses, failed = diagnose(run)
    return RunReport(
        script=script_of(runs[0]),
        run=run,
        report=Report(tuple(sorted(findings, key=lambda f: f.sort_key)), (*said, *failed), files=len(run.sources)),
        diagnoses=diagnoses,
        breakdown=breakdown(run),
        unfound=verdict.unfound(findings, run, ("sync", "copy")),
        changed=changed,
        record=shown(Path(runs[0].path), Path.cwd()),
        runs=tuple(runs),
    )


def _proven(doubtful: Iterable[Finding], findings: Iterable[Finding]) -> Iterator[Finding]:
    """Those of the doubtful findings that the run confirms, at lines that no other finding names."""
    named = {(place.path, place.line) for finding in findings for place in _places(finding)}
    for finding in doubtful:
        confirmed = finding.verdict is not None and finding.verdict.outcome is Outcome.CONFIRMED
        if confirmed and not any((place.path, place.line) in named for place in _places(finding)):
            yield finding


def _places(finding: Finding) -> list[Location]:
    """Where a finding stands, and the other places that belong to it."""
    return [finding.location, *(related.location for related in finding.related)]


def linting(homes: Homes) -> Lint:
    """Lints each file with the settings of its own project."""

    def run(files: Sequence[Path]) -> Linted:
        found = collect([str(f) for f in files], homes) if files else None
        if found is None:
            return Linted([], [])
        findings: list[Finding] = []
        doubtful: list[Finding] = []
        problems = list(found.problems)
        for group in found.groups:
            settings = group.home.settings
            asked = settings.confidence
            # Whoever asks for less than what is likely, or for more, gets that.
            thresholds = [asked, Confidence.POSSIBLE] if asked is Confidence.LIKELY else [asked]
            report, *every = lint_at(Target(group.home.root, settings, group.files), thresholds)
            findings += report.findings
            problems += report.problems
            doubtful += [f for one in every for f in one.findings if f.confidence is Confidence.POSSIBLE]
        return Linted(sorted(findings, key=lambda f: f.sort_key), problems, doubtful)

    return run


def script_of(run: RawRun) -> str:
    """What ran, in the user's words: the command line after the interpreter's flags, without its arguments."""
    words = list(run.header.get("argv", ()))
    while words:
        word = words.pop(0)
        if word == "-m":
            return f"-m {words[0]}" if words else "-m"
        if word in ("-W", "-X", "--check-hash-based-pycs"):
            words = words[1:]
        elif not word.startswith("-"):
            return str(word)
    return "the script"


def append(
    path: str, findings: Iterable[Finding], utilisation: Mapping[str, object] | None, ended: Mapping[str, object]
) -> None:
    """Complete a record with what its parent knows. Raises OSError where the disk says no."""
    records: list[Record] = [{"record": "finding", "finding": stored(finding)} for finding in findings]
    records.append({"record": "judged"})
    Writer(path).write([*records, *ended_records(utilisation, ended)])


def ended_records(utilisation: Mapping[str, object] | None, ended: Mapping[str, object]) -> list[Record]:
    """What the parent saw of the machine and of the end."""
    seen: list[Record] = [{"record": "utilisation", **utilisation}] if utilisation is not None else []
    return [*seen, {"record": "ended", **ended}]


def with_end(run: RawRun, utilisation: Mapping[str, object] | None, ended: Mapping[str, object]) -> RawRun:
    """The run as its completed record will say it."""
    whole = {"record": "utilisation", **utilisation} if utilisation is not None else run.utilisation
    return replace(run, utilisation=whole, ended={"record": "ended", **ended})


def _sources(run: Evidence, cwd: Path) -> list[Path]:
    paths = {cwd / path for path in run.sources if path.endswith(".py")}
    return sorted(path for path in paths if path.is_file())
