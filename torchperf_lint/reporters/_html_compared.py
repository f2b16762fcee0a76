"""The section of the page that compares the run with the one before a change."""

from __future__ import annotations

from torchperf_lint.amounts import NOT_MEASURED, ms
from torchperf_lint.comparable import Change
from torchperf_lint.comparing import Compared, Comparison
from torchperf_lint.model import Finding, Outcome
from torchperf_lint.reporters._compared import RULE, in_order, name_of, sides, spread_said, summed
from torchperf_lint.reporters._html_tags import Markup, code_in, el, lines, table
from torchperf_lint.reporters._run import facts

_LOOKS = {Change.WORSE: "bad", Change.NEW: "bad", Change.BETTER: "good", Change.GONE: "good", Change.UNKNOWN: "note"}
_HEAD = ("what", "change", "why", "before, a step", "after, a step")
_MOST = 200


def compared(comparison: Comparison) -> Markup:
    """Both runs, the step's time, and what became of each diagnosis and finding."""
    runs = [
        (when, report.record or "-", report.script, ", ".join(facts(report.run)), spread_said(report.run))
        for when, report in sides(comparison)
    ]
    step = comparison.step
    rule = [el("p", RULE, class_="dim")] if comparison.threshold_ms is not None else []
    notes = [el("ul", *(el("li", note) for note in comparison.notes))] if comparison.notes else []
    return lines(
        el("h2", "What the change did", id="change"),
        table(
            "This page is about the run after the change", ("run", "record", "script", "facts", "time of a step"), runs
        ),
        el("p", "time of a step: ", _word(step), f": {step.reason}"),
        *(_entries(noun, in_order(part)) for noun, part in _parts(comparison)),
        *rule,
        *notes,
    )


def _parts(comparison: Comparison) -> tuple[tuple[str, tuple[Compared, ...]], ...]:
    return ("diagnosis", comparison.diagnoses), ("finding", comparison.findings)


def _entries(noun: str, entries: list[Compared]) -> Markup:
    if not entries:
        return Markup("")
    rows = [(code_in(name_of(e)), _word(e), e.reason, _ms(e.before_ms), _ms(e.after_ms)) for e in entries[:_MOST]]
    left = len(entries) - _MOST
    return lines(
        table(summed(noun, entries), _HEAD, rows, numbers=2), *([el("p", f"and {left} more")] if left > 0 else [])
    )


def _word(entry: Compared) -> Markup:
    return el("span", entry.change.value, class_=_LOOKS.get(entry.change) if _matters(entry) else None)


def _matters(entry: Compared) -> bool:
    """Whether it is something to do; what is only good to know is neither good nor bad."""
    if entry.change not in (Change.NEW, Change.GONE):
        return True
    what = entry.after or entry.before
    if isinstance(what, Finding):
        return what.verdict is not None and what.verdict.outcome is Outcome.CONFIRMED
    return bool(getattr(what, "actionable", False))


def _ms(value: float | None) -> str:
    return NOT_MEASURED if value is None else ms(value)
