"""One JSON object for other programs; version 1 only ever gains keys."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict

from torchperf_lint.model import Finding, Problem, Related, Report, Severity
from torchperf_lint.reporters import View
from torchperf_lint.reporters._runtime_json import runtime
from torchperf_lint.run_report import RunReport

VERSION = 1


def render(report: Report, view: View) -> str:
    """Sorted, with no times and no facts about the host."""
    del view
    return json.dumps(_static(report), indent=2) + "\n"


def render_run(report: RunReport, view: View) -> str:
    """The same, its findings with their verdicts, and what there is to say about the run under `runtime`."""
    del view
    return json.dumps({**_static(report.report), "runtime": runtime(report)}, indent=2) + "\n"


def _static(report: Report) -> dict[str, object]:
    return {
        "version": VERSION,
        "findings": [_finding(finding) for finding in report.findings],
        "errors": [_error(problem) for problem in report.problems],
        "summary": _summary(report),
    }


def _finding(finding: Finding) -> dict[str, object]:
    at = finding.location
    return {
        "code": finding.code,
        "name": finding.name,
        "path": at.path,
        "line": at.line,
        "column": at.column,
        "end_line": at.end_line,
        "end_column": at.end_column,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "message": finding.message,
        "why_tensor": finding.why_tensor,
        "why_hot": finding.why_hot,
        "instead": finding.instead,
        "url": finding.url,
        "cell": at.cell,
        "related": [_related(related) for related in finding.related],
        "callers": [_related(caller) for caller in finding.callers],
        "fix": asdict(finding.fix) if finding.fix is not None else None,
        "verdict": asdict(finding.verdict) if finding.verdict is not None else None,
    }


def _related(related: Related) -> dict[str, object]:
    at = related.location
    return {
        "path": at.path,
        "line": at.line,
        "column": at.column,
        "end_line": at.end_line,
        "message": related.message,
    }


def _error(problem: Problem) -> dict[str, object]:
    return {
        "path": problem.path,
        "line": problem.line,
        "reason": problem.reason,
        "rule": problem.rule,
        "task": problem.task,
    }


def _summary(report: Report) -> dict[str, object]:
    severities = Counter(finding.severity for finding in report.findings)
    codes = Counter(finding.code for finding in report.findings)
    return {
        "files": report.files,
        "findings": len(report.findings),
        "errors": len(report.problems),
        "suppressed": report.suppressed,
        "fixed": len(report.fixed),
        "by_severity": {severity.value: severities[severity] for severity in Severity},
        "by_code": dict(sorted(codes.items())),
    }
