"""Verdicts in words, and findings ranked by what they cost."""

from __future__ import annotations

from torchperf_lint.evidence import CALL, Evidence
from torchperf_lint.model import Finding, Outcome, Verdict
from torchperf_lint.rates import EVALUATION, STEP, times_of
from torchperf_lint.reporters._words import counted
from torchperf_lint.verdict import NEGLIGIBLE

_DEAR = ("TPL306",)
"""What begins a pass over a loader costs many times what a wait costs: where neither was measured, it comes first."""
WINDOW = "window"
"""The probe's name."""


def negligible(entry: Verdict) -> bool:
    """Whether a confirmed finding was measured to cost next to nothing."""
    share = entry.share_of_step
    return entry.outcome is Outcome.CONFIRMED and share is not None and share < NEGLIGIBLE


def word(entry: Verdict) -> str:
    """`confirmed`, `confirmed, negligible`, `not reached`, ..."""
    text = entry.outcome.value.replace("-", " ")
    return f"{text}, negligible" if negligible(entry) else text


def confirmed(findings: tuple[Finding, ...], run: Evidence) -> list[Finding]:
    """The confirmed findings, the dearest first: by bubble, else blocked time, else count per step."""
    found = [f for f in findings if f.verdict is not None and f.verdict.outcome is Outcome.CONFIRMED]
    return sorted(found, key=lambda finding: (*price_key(finding, run), finding.sort_key))


def price_key(finding: Finding, run: Evidence) -> tuple[bool, float, float, bool, bool, float]:
    """Of a confirmed finding; the smaller, the dearer."""
    verdict = finding.verdict
    assert verdict is not None
    bubble, blocked = verdict.bubble_ms_per_step, verdict.blocked_ms_per_step
    times, unit = times_of(finding, run) or (0.0, "")
    often = (unit == EVALUATION, finding.code not in _DEAR, -times)
    return negligible(verdict), -(bubble or 0.0), -(blocked or 0.0), *often


def turn(run: Evidence) -> str:
    """What is counted in: a step, a batch where nothing trains, a call where no loader is read either."""
    if run.steps:
        return STEP
    return "call" if run.eval_unit == CALL else "batch"


def why_not_measured(run: Evidence) -> str:
    """What a price would have needed."""
    if run.simulated:
        return "the device is simulated"
    if run.device is None:
        return "no device"
    if not run.paid_by[0]:
        if run.requests is not None:
            return "of what a server answers, prices are not divided by request"
        return f"the run is shorter than its warm-up of {counted(run.warmup, 'step' if run.steps else 'batch')}"
    if run.window is None:
        return f"a bubble needs a profiler's window: {run.unwatched.get(WINDOW, 'this record has none')}"
    return "the wait was in none of the profiled steps"
