"""For people: the line, why it matters, what to write instead.

Everything but the colours is there in plain text too; nothing but quoted source goes beyond ASCII.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from torchperf_lint.model import Finding, Fix, Related, Report, Safety
from torchperf_lint.reporters import View
from torchperf_lint.reporters._diff import departures, of_fix
from torchperf_lint.reporters._frame import cropped
from torchperf_lint.reporters._page import INDENT, LABEL, STYLES, Page, page
from torchperf_lint.reporters._words import fixable, fixed, place, summary

if TYPE_CHECKING:
    from torchperf_lint.run_report import RunReport


def render(report: Report, view: View) -> str:
    """The findings and a closing line; what could not be checked goes to standard error."""
    sheet = page(view)
    for finding in report.findings:
        _finding(sheet, finding, view, report.texts.get(finding.location.path))
    if view.show_fixes:
        for line in fixed(report).splitlines():
            sheet.line(Text(line))
    if not view.quiet:
        sheet.line(Text(summary(report), style="bold"))
        can = fixable(report, view.unsafe_fixes)
        if can:
            sheet.line(Text(can))
    return sheet.text


def render_run(report: RunReport, view: View) -> str:
    """What a run did, and what it says about each finding."""
    from torchperf_lint.reporters import _run  # a good part of the start, and nothing to who lints

    return _run.render_run(report, view)


def _finding(sheet: Page, finding: Finding, view: View, text: str | None) -> None:
    """A header, the message, the code, and a labelled line for each thing there is to say."""
    style = STYLES[finding.severity]
    _header(sheet, finding, style)
    sheet.paragraph("", finding.message, "bold")
    sheet.frame(finding.location, INDENT, style, context=1)
    sheet.instead(finding.instead)
    if finding.fix is not None and text is not None:
        _fix(sheet, finding.fix, view, text)
    for label, reason in (("why tensor", finding.why_tensor), ("why hot", finding.why_hot)):
        if reason:
            sheet.paragraph(label, reason)
    for related in (*finding.related, *finding.callers):
        _related(sheet, related)
    sheet.line(Text.assemble(sheet.label("read more"), (f"torchperf-lint --explain {finding.code}", "cyan")))
    sheet.line(Text())


def _fix(sheet: Page, fix: Fix, view: View, text: str) -> None:
    """How the fix is applied, and the lines it changes."""
    flag = "--fix" if fix.safety is Safety.SAFE else "--fix --unsafe-fixes"
    mark = "[*] " if fix.applies(view.unsafe_fixes) else ""
    sheet.paragraph("fix", "shown only" if fix.safety is Safety.DISPLAY else f"{mark}{flag}")
    room = sheet.width - INDENT - LABEL - 2
    changed = of_fix(text, fix)
    for (sign, line), at in zip(changed, departures(changed), strict=True):
        colour = "green" if sign == "+" else "red"
        sheet.line(Text.assemble(" " * (INDENT + LABEL), (f"{sign} {cropped(line, at, room)}", colour)))


def _header(sheet: Page, finding: Finding, style: str) -> None:
    where = Text(place(finding.location), style="bold")
    sure = (f" ({finding.confidence})", "dim")
    what = Text.assemble((finding.severity.value, style), " ", (finding.code, style), " ", finding.name, sure)
    if where.cell_len + what.cell_len + INDENT > sheet.width:
        sheet.line(where)
        sheet.line(Text.assemble(" " * INDENT, what))
    else:
        sheet.line(Text.assemble(where, " " * INDENT, what))


def _related(sheet: Page, related: Related) -> None:
    sheet.paragraph("see also", f"{place(related.location)}  {related.message}")
    sheet.frame(related.location, INDENT + LABEL, "cyan", context=0)
