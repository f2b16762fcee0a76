"""`path:line:column: CODE message`, one line a finding; `CODE [*]` where `--fix` would change it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchperf_lint.model import Finding, Report
from torchperf_lint.reporters import View
from torchperf_lint.reporters._verdicts import word
from torchperf_lint.reporters._words import place, printable

if TYPE_CHECKING:
    from torchperf_lint.run_report import RunReport


def render(report: Report, view: View) -> str:
    """The findings; what could not be checked goes to standard error."""
    return "".join(f"{place(f.location)}: {_what(f, view)} {printable(f.message)}\n" for f in report.findings)


def _what(finding: Finding, view: View) -> str:
    fixable = finding.fix is not None and finding.fix.applies(view.unsafe_fixes)
    return f"{finding.code} [*]" if fixable else finding.code


def render_run(report: RunReport, view: View) -> str:
    """A line for each diagnosis and each judged finding: `path:line:column: CODE verdict: reason`."""
    del view
    bounds = [f"{printable(report.script)}: {d.code} {printable(d.title)}\n" for d in report.diagnoses]
    return "".join([*bounds, *(f"{_judged(f)}\n" for f in report.report.findings)])


def _judged(finding: Finding) -> str:
    start = f"{place(finding.location)}: {finding.code}"
    judged = finding.verdict
    if judged is None:
        return f"{start} not judged: {printable(finding.message)}"
    return f"{start} {word(judged)}: {printable(judged.reason)}"
