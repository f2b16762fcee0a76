"""`--add-noqa`: a comment on the line of every finding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from torchperf_lint import catalog, reporters
from torchperf_lint.adapters._job import Job
from torchperf_lint.errors import UsageError
from torchperf_lint.facts.files.suppressions import joined_lines
from torchperf_lint.facts.fixes.suppression_edits import added
from torchperf_lint.facts.processes.text_files import kind_of
from torchperf_lint.fix import fix
from torchperf_lint.lint import Target
from torchperf_lint.model import Finding, Fix, Problem, Safety


def add(job: Job, reason: str) -> tuple[str, Iterable[Problem]]:
    """What was done, in words, and what could not be. Raises UsageError for standard input."""
    if job.stdin is not None:
        raise UsageError("--add-noqa: cannot be used with standard input")
    problems = set(job.problems)
    lines: set[tuple[str, int | None, int]] = set()
    for group in job.groups:
        # Not every file that is not Python takes a comment behind what it says.
        files = tuple(path for path in group.files if kind_of(path.name) is None)
        target = Target(group.home.root, group.home.settings, files)
        outcome = fix(target, plan=partial(silenced, reason=reason))
        problems |= set(outcome.report.problems)
        lines |= {(f.location.path, f.location.cell, f.location.line) for f in outcome.report.fixed}
    said = f"Added {reporters.counted(len(lines), 'noqa comment')}.\n"
    return said, sorted(problems, key=lambda p: p.sort_key)


def silenced(findings: Sequence[Finding], text: str, starts: Sequence[int], reason: str = "") -> list[Finding]:
    """The findings to silence, one a line, with the comment that silences all of the line as their fix.

    `starts`: for a notebook, the line of `text` on which each cell begins.
    """
    by_line: dict[int, list[Finding]] = {}
    for finding in findings:
        at = finding.location
        line = at.line if at.cell is None else at.line + starts[at.cell - 1] - 1
        if finding.code != catalog.UNUSED_SUPPRESSION:
            by_line.setdefault(joined_lines(text, line)[1], []).append(finding)
    planned = []
    for line, group in by_line.items():
        comment = added(text, line, {finding.code for finding in group}, reason)
        if comment is not None:
            planned.append(replace(group[0], fix=Fix(Safety.SAFE, (comment,))))
    return planned
