"""What to do first: the few diagnoses, confirmed findings and lines that no finding names that cost most."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rich.text import Text

from torchperf_lint.amounts import ms, percent
from torchperf_lint.evidence import Evidence
from torchperf_lint.model import Confidence, Diagnosis, Finding, Location, Severity, Verdict
from torchperf_lint.rates import EVALUATION
from torchperf_lint.reporters._foremost import Foremost, foremost
from torchperf_lint.reporters._page import INDENT, STYLES, Page
from torchperf_lint.reporters._run_unnamed import said_at, unnamed_at
from torchperf_lint.reporters._verdicts import confirmed, negligible, price_key, turn, why_not_measured
from torchperf_lint.reporters._words import place
from torchperf_lint.run_report import RunReport

_MOST = 3
_NUMBER = 3
"""Columns of `1. `."""


@dataclass(frozen=True)
class First:
    """A diagnosis, a confirmed finding, a diagnosis that names the finding's line, or a line that no finding names."""

    diagnosis: Diagnosis | None = None
    finding: Finding | None = None
    unnamed: Foremost | None = None
    share: float | None = None
    """Of the step; None where it was not measured."""

    @property
    def disputable(self) -> bool:
        """Whether it is only possible: a run shows that it happens, and cannot show that nothing needs it."""
        return self.diagnosis is None and is_possible(self.finding)


def is_possible(finding: Finding | None) -> bool:
    """Whether the linter alone would not have shown it."""
    return finding is not None and finding.confidence is Confidence.POSSIBLE


def first(report: RunReport) -> list[First]:
    """At most three: by their share of the step where it was measured, then by how often they happen.

    What is only possible comes after what is more than that.
    """
    left = [f for f in confirmed(report.report.findings, report.run) if f.verdict and not negligible(f.verdict)]
    entries = []
    for diagnosis in report.diagnoses:
        if getattr(diagnosis, "actionable", False):
            named = [finding for finding in left if _named(finding, diagnosis.advice)]
            left = [finding for finding in left if finding not in named]
            share = getattr(diagnosis, "share", None)
            entries.append(First(diagnosis, named[0] if named else None, share=share))
    entries += [First(finding=f, share=f.verdict.share_of_step if f.verdict else None) for f in left]
    entries += [
        First(unnamed=found, share=found.share)
        for found in foremost(report)
        if not any(_is_named(found.at, diagnosis.advice) for diagnosis in report.diagnoses)
    ]
    # Stable: what has neither share nor price keeps its order behind what has one.
    return sorted(entries, key=lambda entry: _rank(entry, report.run))[:_MOST]


def _rank(entry: First, run: Evidence) -> tuple[bool, float, tuple[float, ...], bool]:
    """The smaller, the sooner. Of two that happen equally often, the one that comes with an advice."""
    price: tuple[float, ...] = (0.0, 0.0, False, False, float("-inf"))
    if entry.unnamed is not None:
        told = entry.unnamed
        price = (-(told.bubble_ms or 0.0), -(told.blocked_ms or 0.0), told.unit == EVALUATION, True, -told.times)
    elif entry.diagnosis is None and entry.finding is not None:
        price = price_key(entry.finding, run)[1:]
    return entry.disputable, -(entry.share or 0.0), price, entry.unnamed is not None


def _named(finding: Finding, advice: str) -> bool:
    """Whether an advice speaks about the line already."""
    return _is_named(finding.location, advice)


def _is_named(at: Location, advice: str) -> bool:
    named = re.escape(f"{at.path}:{at.line}")
    return re.search(rf"(?<![\w/.]){named}(?!\d)", advice) is not None


def show_first(sheet: Page, report: RunReport, entries: list[First]) -> None:
    """A numbered list, with the lines of code."""
    if not entries:
        return
    sheet.heading("Do this first" if len(entries) == 1 else "Do these first")
    for number, entry in enumerate(entries, 1):
        label = f"{number}."
        if entry.diagnosis is not None:
            sheet.paragraph(label, f"{entry.diagnosis.advice} ({entry.diagnosis.code})", room=_NUMBER)
            label = ""
        if entry.finding is not None:
            _finding(sheet, label, entry.finding, report.run)
        if entry.unnamed is not None:
            _unnamed(sheet, label, entry.unnamed, report)


def _finding(sheet: Page, label: str, finding: Finding, run: Evidence) -> None:
    style, indent = STYLES[finding.severity], INDENT + _NUMBER
    head = Text.assemble(sheet.label(label.ljust(_NUMBER), room=_NUMBER), (place(finding.location), "bold"))
    what = Text.assemble("  ", (finding.code, style), " ", finding.name)
    if is_possible(finding):
        what.append(f" ({finding.confidence})", "dim")
    if head.cell_len + what.cell_len > sheet.width:
        sheet.line(head)
        head = Text(" " * (indent - 2))
    sheet.line(Text.assemble(head, what))
    sheet.frame(finding.location, indent, style, context=0)
    sheet.instead(finding.advice, indent)
    verdict = finding.verdict
    if verdict is not None:
        sheet.paragraph("seen", verdict.reason, indent=indent)
        # Of a simulated run no price is known, which the first line says once.
        if not run.simulated:
            sheet.paragraph("price", price(verdict, run), indent=indent)


def _unnamed(sheet: Page, label: str, told: Foremost, report: RunReport) -> None:
    indent = INDENT + _NUMBER
    sheet.paragraph(label, head_of(told, report), room=_NUMBER)
    sheet.frame(told.at, indent, STYLES[Severity.WARNING], context=0)
    if told.meaning is not None:
        sheet.paragraph("what", told.meaning, indent=indent)


def head_of(told: Foremost, report: RunReport) -> str:
    """Where it is and what happens; that no finding is about it says why no advice stands below."""
    return f"{unnamed_at(told.entry, report)}: {said_at(told.entry, report.run)} (no finding names it)"


def price(verdict: Verdict, run: Evidence) -> str:
    """What a confirmed finding costs, as far as it was measured."""
    parts, unit = [], turn(run)
    if verdict.bubble_ms_per_step is not None:
        parts.append(f"the device idles {ms(verdict.bubble_ms_per_step)} a {unit} for it (upper bound)")
    if verdict.blocked_ms_per_step is not None:
        bound = " (upper bound of what removing it saves)" if verdict.bubble_ms_per_step is None else ""
        parts.append(f"blocked {ms(verdict.blocked_ms_per_step)} a {unit}{bound}")
    if verdict.share_of_step is not None:
        parts.append(f"{percent(verdict.share_of_step)} of the {unit}")
    return ", ".join(parts) or f"not measured: {why_not_measured(run)}"
