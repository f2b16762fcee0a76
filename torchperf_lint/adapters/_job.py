"""One lint run for the command line: targets, the reports merged, and the exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path

from torchperf_lint import reporters
from torchperf_lint.errors import CannotCheck, UsageError
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
    text: str | None = None
    """Standard input; then there is at most one group with one file."""


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
    if options.stdin_filename and home.settings.force_exclude and homes.leaves_out(path):
        return Job(cwd, (home,))
    from torchperf_lint.facts.text import decode

    try:
        text = decode(sys.stdin.buffer.read())
    except CannotCheck as error:
        return Job(cwd, (home,), problems=(Problem(shown(path, cwd), error.line, error.reason),))
    return Job(cwd, (home,), (Group(home, (path,)),), text=text)


def run(job: Job, exit_zero: bool) -> tuple[Report, int]:
    """One report over all projects, and the exit code; each project has its own `fail_on`."""
    reports = []
    fails = False
    for group in job.groups:
        texts = {group.files[0]: job.text} if job.text is not None else {}
        report = lint(Target(group.home.root, group.home.settings, group.files, texts))
        reports.append(report)
        fails = fails or any(f.severity.at_least(group.home.settings.fail_on) for f in report.findings)
    merged = _merged(job, reports)
    if merged.problems:
        return merged, PROBLEMS
    return merged, FINDINGS if fails and not exit_zero else 0


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
    )


def report_text(report: Report, job: Job, options: argparse.Namespace, width: int, color: bool) -> str:
    """The report in the format asked for."""
    if options.statistics and options.output_format != "json":
        return reporters.statistics(report)
    texts = {shown(group.files[0], job.cwd): job.text for group in job.groups if job.text is not None}
    view = reporters.View(width, color, options.quiet, texts, job.cwd)
    return reporters.render(options.output_format, report, view)


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
