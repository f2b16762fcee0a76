"""The `runtime` object of the JSON format. A figure that was not measured is null, never 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from torchperf_lint.evidence import Evidence
from torchperf_lint.model import Diagnosis
from torchperf_lint.rates import per_eval_batch, per_step
from torchperf_lint.recorded import Event, Rank, Spread
from torchperf_lint.reporters._compiling import compiling_figures
from torchperf_lint.reporters._requests import requests_figures
from torchperf_lint.run_report import RunReport
from torchperf_lint.stragglers import late_phases, turns
from torchperf_lint.verdict import named
from torchperf_lint.window import kernels_of


def runtime(report: RunReport) -> dict[str, object]:
    """Everything about the run; times are ms on the host's clock after the warm-up, counts are of the whole run."""
    run = report.run
    told = named(report.report.findings, run, ("sync", "copy"))
    return {
        "script": report.script,
        "device": run.device,
        "simulated": run.simulated,
        "torch": run.torch,
        "steps": run.steps,
        "warmup": run.warmup,
        "train_batches": run.train_batches,
        "eval_batches": run.eval_batches,
        "eval_calls": run.eval_calls,
        "requests": requests_figures(run),
        "ranks": _ranks(run),
        "missing_ranks": list(run.missing_ranks),
        "stragglers": _stragglers(run),
        "step_ms": _spread(run.step_ms, run.simulated),
        "breakdown": _breakdown(report),
        "compiling": compiling_figures(run),
        "sites": [_site(event, run, _found(event, told)) for event in sorted_sites(run)],
        "window": _window(run),
        "utilisation": _utilisation(run),
        "diagnoses": [_diagnosis(diagnosis) for diagnosis in report.diagnoses],
        "unwatched": dict(sorted(run.unwatched.items())),
        "changed_sources": list(report.changed),
        "returncode": run.returncode,
        "raised": run.raised,
        "wall_s": run.wall_s,
        "torn": run.torn,
    }


def sorted_sites(run: Evidence) -> list[Event]:
    """The events of a run by place and kind."""
    return sorted(run.events, key=lambda e: (e.path, e.line, e.column or 0, e.kind, e.what, e.via or ("", 0)))


def _breakdown(report: RunReport) -> list[dict[str, object]] | None:
    if report.breakdown is None:
        return None
    return [{"phase": p.phase, "share": _rounded(p.share), "ms": _rounded(p.ms)} for p in report.breakdown]


def _utilisation(run: Evidence) -> dict[str, object] | None:
    """As the sampler wrote it."""
    if run.utilisation is None:
        return None
    return {key: value for key, value in run.utilisation.items() if key != "record"}


def _window(run: Evidence) -> dict[str, object] | None:
    """The profiled steps: a site's `bubble_ms` is the sum over them. Times in ms, but the kernels' median in us;
    `slowed`: the median step after them over that before."""
    window, kernels = run.window, kernels_of(run.state)
    if window is None:
        return None
    figures = {key: value for key, value in asdict(kernels).items() if key != "steps"} if kernels is not None else None
    own = {"open_ms": window.open_ms, "close_ms": window.close_ms, "slowed": run.slowed}
    return {"steps": window.steps, "left_out": window.left_out, **own, "kernels": figures}


def _found(event: Event, told: frozenset[int]) -> bool | None:
    """Whether a finding stands at the place of a synchronisation or copy; None for other events."""
    return id(event) in told if event.kind in ("sync", "copy") else None


def _site(event: Event, run: Evidence, found: bool | None) -> dict[str, object]:
    return {
        "path": event.path,
        "line": event.line,
        "column": event.column,
        "kind": event.kind,
        "what": event.what,
        "count": event.count,
        "per_step": _rounded(per_step(event, run)),
        "per_eval_batch": _rounded(per_eval_batch(event, run)),
        "train_turns": event.train_turns,
        "eval_turns": event.eval_turns,
        "train_steps": event.train_steps,
        "eval_of": event.eval_of,
        "trained": event.trained,
        "evaluated": event.evaluated,
        "before": event.before,
        "blocked_ms": None if run.simulated else event.blocked_ms,
        "bubble_ms": event.bubble_ms,
        "bytes": _bytes(event),
        "via": {"path": event.via[0], "line": event.via[1]} if event.via else None,
        "by_rank": list(event.by_rank),
        "found": found,
        "attributes": dict(event.attributes),
    }


def _bytes(event: Event) -> int | None:
    """Of copies, and of collectives that were given tensors."""
    if event.kind == "collective":
        return event.nbytes or None
    return event.nbytes if event.kind == "copy" else None


def _ranks(run: Evidence) -> list[dict[str, object]]:
    found = None if run.simulated else turns(run)
    late = {} if run.simulated else late_phases(run)
    return [
        _rank(rank, run.simulated)
        | {"late_steps": found.late.get(index, 0) if found else None, "late_phase": late.get(index)}
        for index, rank in enumerate(run.ranks)
    ]


def _rank(rank: Rank, simulated: bool) -> dict[str, object]:
    timed = not simulated and rank.step_ms is not None
    return {
        "rank": rank.rank,
        "pid": rank.pid,
        "host": rank.host,
        "node": rank.node,
        "steps": rank.steps,
        "step_ms": _spread(rank.step_ms, simulated),
        "wait_ms": rank.wait_ms if timed else None,
        "alone_ms": _phases(rank.alone_ms) if timed else None,
        "together_ms": _phases(rank.together_ms) if timed else None,
        "returncode": rank.returncode,
    }


def _phases(ms: Mapping[str, float]) -> dict[str, float | None] | None:
    return {phase: _rounded(value) for phase, value in ms.items()} or None


def _stragglers(run: Evidence) -> dict[str, object] | None:
    """Single steps of all ranks compared; None where too few were kept, or there is one process."""
    found = None if run.simulated else turns(run)
    if found is None:
        return None
    return {
        "steps_compared": found.steps,
        "late_steps": found.late_steps,
        "by_ms": _rounded(found.by_ms),
        "phase": found.phase,
    }


def _spread(spread: Spread | None, simulated: bool) -> dict[str, object] | None:
    if spread is None or simulated:
        return None
    return {"median": _rounded(spread.median), "p95": _rounded(spread.p95)}


def _diagnosis(diagnosis: Diagnosis) -> dict[str, object]:
    return {
        "code": diagnosis.code,
        "name": diagnosis.name,
        "title": diagnosis.title,
        "evidence": diagnosis.evidence,
        "advice": diagnosis.advice,
        "share": _rounded(getattr(diagnosis, "share", None)),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
