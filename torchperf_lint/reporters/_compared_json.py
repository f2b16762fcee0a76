"""The `comparison` object of the JSON format. A figure that was not measured is null, never 0."""

from __future__ import annotations

from torchperf_lint.comparing import Compared, Comparison
from torchperf_lint.model import Diagnosis, Finding
from torchperf_lint.recorded import Spread
from torchperf_lint.run_report import RunReport


def as_object(comparison: Comparison) -> dict[str, object]:
    """Both runs in short, and what became of what; times are ms a step."""
    return {
        "before": _side(comparison.before),
        "after": _side(comparison.after),
        "threshold_ms": _rounded(comparison.threshold_ms),
        "step": _entry(comparison.step),
        "diagnoses": [_entry(entry) for entry in comparison.diagnoses],
        "findings": [_entry(entry) for entry in comparison.findings],
        "notes": list(comparison.notes),
    }


def _side(report: RunReport) -> dict[str, object]:
    run = report.run
    return {
        "script": report.script,
        "record": report.record,
        "device": run.device,
        "simulated": run.simulated,
        "torch": run.torch,
        "steps": run.steps,
        "step_ms": None if run.simulated else _spread(run.step_ms),
        "returncode": run.returncode,
    }


def _spread(spread: Spread | None) -> dict[str, object] | None:
    if spread is None:
        return None
    names = ("lower", "median", "upper", "p95")
    return {**{name: _rounded(getattr(spread, name)) for name in names}, "count": spread.count}


def _entry(entry: Compared) -> dict[str, object]:
    what = entry.after or entry.before
    return {
        "change": entry.change.value,
        "reason": entry.reason,
        "code": what.code if what is not None else None,
        "name": what.name if what is not None else None,
        "before": _place(entry.before),
        "after": _place(entry.after),
        "before_ms": _rounded(entry.before_ms),
        "after_ms": _rounded(entry.after_ms),
    }


def _place(what: Diagnosis | Finding | None) -> dict[str, object] | None:
    if isinstance(what, Finding):
        outcome = what.verdict.outcome.value if what.verdict is not None else None
        at = what.location
        return {"path": at.path, "line": at.line, "column": at.column, "outcome": outcome}
    return {"title": what.title} if what is not None else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
