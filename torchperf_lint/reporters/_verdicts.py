"""Verdicts in words, and findings ranked by what they cost."""

from __future__ import annotations

from collections.abc import Callable

from torchperf_lint.evidence import Event, Evidence
from torchperf_lint.model import Finding, Outcome, Verdict
from torchperf_lint.reporters._runtime_json import per_eval_batch, per_step
from torchperf_lint.reporters._words import counted
from torchperf_lint.verdict import NEGLIGIBLE

STEP, EVALUATION = "step", "evaluation batch"
_KINDS = ("sync", "copy", "empty-cache", "data-parallel")


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
    return sorted(found, key=lambda finding: (*_price(finding, run), finding.sort_key))


def _price(finding: Finding, run: Evidence) -> tuple[bool, float, float, bool, float]:
    verdict = finding.verdict
    assert verdict is not None
    bubble, blocked = verdict.bubble_ms_per_step, verdict.blocked_ms_per_step
    times, unit = times_of(finding, run) or (0.0, "")
    return negligible(verdict), -(bubble or 0.0), -(blocked or 0.0), unit == EVALUATION, -times


def times_of(finding: Finding, run: Evidence) -> tuple[float, str] | None:
    """How often what the finding claims happens, and in what: a step, else an evaluation batch; None where nobody
    counted. A blocking copy is both a copy and a synchronisation, and counts once.
    """
    for unit, per in ((STEP, per_step), (EVALUATION, per_eval_batch)):
        each = [_sum(run.at(finding.location, kind), run, per) for kind in _KINDS]
        times = max((count for count in each if count is not None), default=None)
        if times is not None:
            return times, unit
    return None


def _sum(events: tuple[Event, ...], run: Evidence, per: Callable[[Event, Evidence], float | None]) -> float | None:
    counts = [count for count in (per(event, run) for event in events) if count is not None]
    return sum(counts) if counts else None


def why_not_measured(run: Evidence) -> str:
    """What a price would have needed."""
    if run.simulated:
        return "the device is simulated"
    if run.device is None:
        return "no device"
    if not run.steady_steps:
        return f"the run is shorter than its warm-up of {counted(run.warmup, 'step')}"
    return "a bubble needs a trace of the device's kernels"
