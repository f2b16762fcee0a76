"""Two runs compared, in each format."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from torchperf_lint.amounts import ms
from torchperf_lint.comparable import Change
from torchperf_lint.comparing import Compared, Comparison
from torchperf_lint.evidence import Evidence
from torchperf_lint.model import Diagnosis, Finding
from torchperf_lint.reporters import View
from torchperf_lint.reporters._compared_json import as_object
from torchperf_lint.reporters._page import Page, page
from torchperf_lint.reporters._run import facts
from torchperf_lint.reporters._words import counted, place, printable
from torchperf_lint.reporters.json_ import VERSION
from torchperf_lint.run_report import RunReport

_ROOM = 14
"""Columns of `not compared` with the space after it."""
_MOST = 40
RULE = "same: no more than the spread, the wider of both runs' middle halves of steps, and at least 2 % of a step"
_ORDER = (Change.WORSE, Change.NEW, Change.BETTER, Change.GONE, Change.UNKNOWN, Change.SAME)


def render(format_name: str, comparison: Comparison, view: View) -> str:
    """What a change did, in a format of `reporters.formats()`."""
    if format_name == "json":
        return json.dumps({"version": VERSION, "comparison": as_object(comparison)}, indent=2) + "\n"
    return _concise(comparison) if format_name == "concise" else _full(comparison, view)


def _full(comparison: Comparison, view: View) -> str:
    sheet = page(view)
    for when, report in sides(comparison):
        sheet.paragraph(when, " | ".join([report.script, *facts(report.run)]), indent=0, room=8)
    sheet.heading("Time of a step")
    for when, report in sides(comparison):
        sheet.paragraph(when, spread_said(report.run), room=_ROOM)
    sheet.paragraph(comparison.step.change.value, comparison.step.reason, room=_ROOM)
    for noun, entries in (("diagnosis", comparison.diagnoses), ("finding", comparison.findings)):
        _entries(sheet, noun, in_order(entries))
    if comparison.threshold_ms is not None:
        sheet.paragraph("", RULE, "dim")
    if comparison.notes:
        sheet.heading("Notes")
    for note in comparison.notes:
        sheet.paragraph("", note)
    return sheet.text.lstrip("\n")


def sides(comparison: Comparison) -> tuple[tuple[str, RunReport], ...]:
    """The two runs with their names."""
    return ("before", comparison.before), ("after", comparison.after)


def spread_said(run: Evidence) -> str:
    """Median and quartiles of the step, or that it was not measured."""
    spread = run.step_ms
    if spread is None or run.simulated:
        return "not measured"
    steps = counted(spread.count, "step")
    if spread.lower is None or spread.upper is None:
        return f"median {ms(spread.median)}, p95 {ms(spread.p95)} ({steps})"
    return f"median {ms(spread.median)}, quartiles {ms(spread.lower)} and {ms(spread.upper)} ({steps})"


def in_order(entries: Sequence[Compared]) -> list[Compared]:
    """What asks for attention first."""
    return sorted(entries, key=lambda entry: _ORDER.index(entry.change))


def summed(noun: str, entries: Sequence[Compared]) -> str:
    """`3 findings: 1 new, 2 same`."""
    counts = Counter(entry.change for entry in entries)
    words = ", ".join(f"{counts[change]} {change.value}" for change in _ORDER if counts[change])
    plural = {"diagnosis": "diagnoses"}.get(noun, f"{noun}s")
    return f"{len(entries)} {noun if len(entries) == 1 else plural}{f': {words}' if words else ''}"


def name_of(entry: Compared) -> str:
    """What it is and where, as it is now; as it was where it is gone."""
    what = entry.after or entry.before
    if isinstance(what, Finding):
        return f"{what.code} {place(what.location)} {what.name}"
    return f"{what.code} {what.title}" if isinstance(what, Diagnosis) else ""


def _entries(sheet: Page, noun: str, entries: list[Compared]) -> None:
    sheet.heading(summed(noun, entries))
    for entry in entries[:_MOST]:
        sheet.paragraph(entry.change.value, f"{name_of(entry)}: {entry.reason}", room=_ROOM)
    if len(entries) > _MOST:
        sheet.paragraph("", f"and {len(entries) - _MOST} more")


def _concise(comparison: Comparison) -> str:
    """A line for each thing compared: `change: what: why`."""
    lines = [f"{comparison.step.change.value}: time of a step: {comparison.step.reason}"]
    for entry in (*in_order(comparison.diagnoses), *in_order(comparison.findings)):
        lines.append(f"{entry.change.value}: {name_of(entry)}: {entry.reason}")
    return "".join(f"{printable(line)}\n" for line in lines)
