"""What a run answered that neither trained nor read a loader, in words and in figures."""

from __future__ import annotations

from torchperf_lint.amounts import line, ms, often, percent
from torchperf_lint.evidence import Evidence
from torchperf_lint.recorded import Requests, Spread


def requests_said(run: Evidence) -> str | None:
    """How many, from where, how long they took, and what lay between; None where there were none."""
    found = run.requests
    if found is None:
        return None
    mixed = found.unit == "call" and found.at_place not in (None, found.calls)
    most = f", {found.at_place} of them" if mixed else ""
    parts = [f"{_counted(found)}{f'{most} from {line(*found.place)}' if found.place else ''}"]
    if found.unit == "request" and found.calls != found.count:
        parts.append(f"{often(found.calls / found.count)} calls of a model in each")
    waits = [event for event in run.events if event.kind == "sync"]
    # Set-up is no answer, but in records of before this was counted.
    reads = sum(e.count if e.evaluated is None and e.eval_turns else e.evaluated or 0 for e in waits)
    mean = ", on average" if mixed else ""
    if reads:
        parts.append(f"{often(reads / found.count)} synchronisation{'' if reads == found.count else 's'} in each{mean}")
    if not run.simulated:
        parts += _times(found)
    if found.most > 1:
        parts.append(f"at most {found.most} at once")
    return "; ".join(parts)


def _times(found: Requests) -> list[str]:
    parts = []
    if found.ms is not None:
        parts.append(f"median {ms(found.ms.median)}, p95 {ms(found.ms.p95)}")
    if found.between_ms is not None:
        free = found.idle_share or 0.0
        parts.append(
            f"between two {found.unit}s median {ms(found.between_ms.median)}, p95 {ms(found.between_ms.p95)}: "
            f"{percent(free)} of the time, which counts in no {found.unit}"
        )
    return parts


def _counted(found: Requests) -> str:
    if found.unit == "request":
        return f"{found.count} request{'s' * (found.count != 1)} (blocks without gradients that call a model)"
    return f"{found.count} call{'s' * (found.count != 1)} of a model"


def requests_figures(run: Evidence) -> dict[str, object] | None:
    """For the JSON format; times are null where they were not measured."""
    found = run.requests
    if found is None:
        return None
    timed = bool(found.steady) and not run.simulated
    return {
        "unit": found.unit,
        "count": found.count,
        "calls": found.calls,
        "most_at_once": found.most,
        "place": {"path": found.place[0], "line": found.place[1]} if found.place else None,
        "ms": _spread(found.ms) if timed else None,
        "between_ms": _spread(found.between_ms) if timed else None,
        "in_calls_ms": round(found.in_calls_ms, 4) if timed else None,
        "idle_ms": round(found.idle_ms, 4) if timed else None,
        "between_cpu_ms": round(found.between.cpu_ms, 4) if timed and found.between is not None else None,
    }


def _spread(spread: Spread | None) -> dict[str, float] | None:
    return None if spread is None else {"median": round(spread.median, 4), "p95": round(spread.p95, 4)}
