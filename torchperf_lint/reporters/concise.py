"""`path:line:column: CODE message`, one line a finding."""

from __future__ import annotations

from torchperf_lint.model import Report
from torchperf_lint.reporters import View
from torchperf_lint.reporters._words import place, printable


def render(report: Report, view: View) -> str:
    """The findings; what could not be checked goes to standard error."""
    del view
    return "".join(f"{place(f.location)}: {f.code} {printable(f.message)}\n" for f in report.findings)
