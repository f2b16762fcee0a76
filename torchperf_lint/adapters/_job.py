"""One lint run for the command line: targets, the reports merged, and the exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path

from torchperf_lint import reporters
from torchperf_lint.errors import CannotCheck, CannotFix, UsageError
from torchperf_lint.facts.syntax.text import Stored, decode
from torchperf_lint.fix import Change, fix
from torchperf_lint.lint import Target, lint
from torchperf_lint.model import Problem, Report
from torchperf_lint.options import BY_FIELD, OPTIONS
from torchperf_lint.paths import Group, Home, Homes, collect
from torchperf_lint.settings import shown

FINDINGS = 1
PROBLEMS = 2
_STDIN = "<stdin>"


@dataclass(frozen=True)
class Job:
    """What was asked for."""

    cwd: Path
    homes: tuple[Home, ...]
    """The projects concerned; the working directory's where no file is."""
    groups: tuple[Group, ...] = ()
    problems: tuple[Problem, ...] = ()
    """What could not even be collected."""
    stdin: Stored | None = None
    """Standard input, where it could be read; then there is at most one group with one file."""
    echo: bytes | None = None
    """What came through standard input, where a fixed text is expected to come out."""

    @property
    def texts(self) -> dict[Path, str]:
        """Texts that stand in for files."""
        return {group.files[0]: self.stdin.text for group in self.groups} if self.stdin is not None else {}


@dataclass(frozen=True)
class Ran:
    """What came of a job."""

    report: Report
    code: int
    """The exit code."""
    changes: tuple[Change, ...] = ()
    """What fixing made of files."""


def homes_of(options: argparse.Namespace) -> Homes:
    """Projects and their settings, as the command line overrides them. Raises UsageError and ConfigError."""
    cwd = _working_directory()
    overrides = {option.field: getattr(options, option.field) for option in OPTIONS}
    if overrides["cache_dir"]:
        overrides["cache_dir"] = str(cwd / overrides["cache_dir"])
    if options.config is not None and options.isolated:
        raise UsageError("--config: cannot be used with --isolated")
    config = Path(os.path.abspath(cwd / options.config)) if options.config is not None else None  # noqa: PTH100
    return Homes(overrides, options.isolated, config, cwd)


def prepare(options: argparse.Namespace) -> Job:
    """Find files and settings. Raises UsageError and ConfigError."""
    homes = homes_of(options)
    cwd = homes.cwd
    if "-" in options.paths or (options.stdin_filename is not None and not options.paths):
        return _standard_input(options, homes)
    if options.stdin_filename is not None:
        raise UsageError("--stdin-filename: is for standard input, and other paths are named")
    found = collect(options.paths or ["."], homes)
    # A wrong flag is told, and settings are shown, even where there is nothing to check.
    asked = tuple(group.home for group in found.groups) or (homes.of(cwd),)
    return Job(cwd, asked, found.groups, found.problems)


def _standard_input(options: argparse.Namespace, homes: Homes) -> Job:
    if options.paths not in (["-"], []):
        raise UsageError("-: standard input cannot be checked together with other paths")
    cwd = homes.cwd
    path = Path(os.path.abspath(cwd / (options.stdin_filename or _STDIN)))  # noqa: PTH100
    home = homes.of(path)
    fixes = options.diff or (home.settings.fix and options.add_noqa is None)
    if options.stdin_filename and home.settings.force_exclude and homes.leaves_out(path):
        return Job(cwd, (home,), echo=sys.stdin.buffer.read() if fixes else None)
    data = sys.stdin.buffer.read()
    echo = data if fixes else None
    try:
        stdin = Stored(data, decode(data))
    except CannotCheck as error:
        problem = Problem(shown(path, cwd), error.line, error.reason)
        return Job(cwd, (home,), problems=(problem,), echo=echo)
    return Job(cwd, (home,), (Group(home, (path,)),), stdin=stdin, echo=echo)


def run(job: Job, options: argparse.Namespace) -> Ran:
    """One report over all projects, and the exit code; each project has its own `fail_on`."""
    reports: list[Report] = []
    changes: list[Change] = []
    fails = False
    for group in job.groups:
        settings = group.home.settings
        target = Target(group.home.root, settings, group.files, job.texts)
        if options.diff or settings.fix:
            fixed = fix(target, settings.unsafe_fixes, to_disk=not options.diff)
            changes += fixed.changes
            report = fixed.report
        else:
            report = lint(target)
        reports.append(report)
        fails = fails or any(f.severity.at_least(settings.fail_on) for f in report.findings)
    if options.diff:
        fails = bool(changes)
    merged = _merged(job, reports)
    code = PROBLEMS if merged.problems else FINDINGS if fails and not options.exit_zero else 0
    return Ran(merged, code, tuple(changes))


def _merged(job: Job, reports: Iterable[Report]) -> Report:
    everything = (Report(problems=job.problems, files=len({p.path for p in job.problems})), *reports)
    seconds: dict[str, float] = {}
    for report in everything:
        for phase, spent in report.seconds.items():
            seconds[phase] = seconds.get(phase, 0.0) + spent
    return Report(
        findings=tuple(sorted((f for r in everything for f in r.findings), key=lambda f: f.sort_key)),
        problems=tuple(sorted({p for r in everything for p in r.problems}, key=lambda p: p.sort_key)),
        files=sum(report.files for report in everything),
        suppressed=sum(report.suppressed for report in everything),
        seconds=seconds,
        fixed=tuple(sorted((f for r in everything for f in r.fixed), key=lambda f: f.sort_key)),
        texts={path: text for report in everything for path, text in report.texts.items()},
    )


def report_text(ran: Ran, job: Job, options: argparse.Namespace, width: int, color: bool) -> str:
    """The report in the format asked for."""
    if options.statistics and options.output_format != "json":
        return reporters.statistics(ran.report)
    texts = {**job.texts, **{change.path: change.after for change in ran.changes}}
    view = reporters.View(
        width,
        color,
        options.quiet,
        {shown(path, job.cwd): text for path, text in texts.items()},
        unsafe_fixes=all(home.settings.unsafe_fixes for home in job.homes),
        show_fixes=any(home.settings.show_fixes for home in job.homes),
        cwd=job.cwd,
    )
    return reporters.render(options.output_format, ran.report, view)


def diff_text(ran: Ran) -> str:
    """What fixing would change, as `patch` reads it."""
    return "".join(reporters.unified(change.shown, change.before, change.after) for change in ran.changes)


def fixed_text(ran: Ran, job: Job, options: argparse.Namespace) -> str:
    """What was fixed or would be, for standard error."""
    report = ran.report
    if any(home.settings.show_fixes for home in job.homes):
        return reporters.fixed(report, would=options.diff)
    if options.diff and report.fixed and not options.quiet:
        return f"Would fix {reporters.counted(len(report.fixed), 'finding')}.\n"
    return ""


def echoed(ran: Ran, job: Job) -> tuple[bytes, Ran]:
    """Standard input as fixing made it, byte for byte where it did not change."""
    assert job.echo is not None
    if job.stdin is None or not ran.changes:
        return job.echo, ran
    (change,) = ran.changes
    try:
        return job.stdin.encoded(change.after), ran
    except CannotFix as error:
        problem = Problem(change.shown, None, str(error), task="fixed")
        report = replace(ran.report, problems=(*ran.report.problems, problem))
        return job.echo, replace(ran, report=report, code=PROBLEMS)


def problems_text(problems: Iterable[Problem]) -> str:
    """A line for each thing that could not be checked."""
    return "".join(f"{reporters.problem(entry)}\n" for entry in problems)


def timings_text(report: Report) -> str:
    """Seconds by phase and rule, longest first."""
    longest = sorted(report.seconds.items(), key=lambda item: (-item[1], item[0]))
    return "".join(f"{spent:9.3f} s  {phase}\n" for phase, spent in longest)


def files_text(job: Job) -> str:
    """The files that would be read, one a line, sorted."""
    files = sorted(shown(path, job.cwd) for group in job.groups for path in group.files)
    return "".join(f"{reporters.printable(path)}\n" for path in files)


def settings_text(job: Job) -> str:
    """The settings of every project concerned, as a configuration file would say them."""
    parts = []
    for home in job.homes:
        source = f"from {shown(home.config, job.cwd)}" if home.config else "no configuration file"
        lines = [f"# {shown(home.root, job.cwd)}: {source}"]
        for field in fields(home.settings):
            value = getattr(home.settings, field.name)
            key = BY_FIELD[field.name].name
            lines.append(f"{key} = {_toml(value)}" if value is not None else f"# {key} is not set")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _toml(value: object) -> str:
    import json

    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple) and value and isinstance(value[0], tuple):
        return "{ " + ", ".join(f"{_toml(pattern)} = {_toml(codes)}" for pattern, codes in value) + " }"
    if isinstance(value, tuple):
        return f"[{', '.join(_toml(item) for item in value)}]"
    return json.dumps(value)


def _working_directory() -> Path:
    """The working directory. Raises UsageError where it is gone."""
    try:
        return Path.cwd()
    except OSError as error:
        raise UsageError(f"the working directory cannot be used: {error.strerror}") from None
