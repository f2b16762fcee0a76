"""Recorded runs that nobody ran: Evidence built by hand, its numbers chosen so that each says one thing.

All are synthetic; none is shown as a run in the documentation.
"""

from __future__ import annotations

from dataclasses import replace

from torchperf_lint.answering import BetweenCalls, Stretch
from torchperf_lint.bounds import breakdown
from torchperf_lint.evidence import Evidence
from torchperf_lint.model import Confidence, Finding, Location, Outcome, Report, Severity, Verdict
from torchperf_lint.recorded import Event, LoaderRun, Rank, Requests, Segment, Spread
from torchperf_lint.run_report import RunReport
from torchperf_lint.runtime.diagnose import diagnose
from torchperf_lint.spans import Instant, Sample, Span, Turn

STEPS, WARMUP = 110, 10
STEADY = STEPS - WARMUP
GPU = "NVIDIA H200"
LOADER_LINE = 9
# Where the marks stand that bound each phase of the timeline.
LINES = {
    "data": (20, 20),
    "forward": (20, 23),
    "backward": (23, 23),
    "gradients": (23, 24),
    "optimizer": (24, 24),
    "after the step": (24, 20),
    "after backward": (23, 20),
    "no backward": (20, 20),
    "between steps": (24, 21),
    "other": (25, 30),
}


def segments(step_ms, turns, **shares):
    """Segments whose shares are given, `forward` taking the rest; underscores stand for spaces."""
    named = {name.replace("_", " "): share for name, share in shares.items()}
    named.setdefault("forward", 1 - sum(named.values()))
    made = []
    for phase, share in named.items():
        start, end = LINES.get(phase, (None, None))
        places = (("train.py", start), ("train.py", end)) if start else (None, None)
        made.append(Segment(phase, *places, ms=share * step_ms * turns, times=turns))
    return tuple(s for s in made if s.ms > 0)


def loader(wait_ms=0.0, workers=0, cpu=1.0, batches=STEPS, epochs=1, **changes):
    """A loader that training waits `wait_ms` for, per batch; `cpu`: share of its wait that the thread computes."""
    settings = {"class": "DataLoader", "num_workers": workers, "batch_size": 32, "persistent_workers": False}
    settings |= changes.pop("settings", {})
    values = {
        "path": "train.py",
        "line": LOADER_LINE,
        "settings": settings,
        "batches": batches,
        "epochs": epochs,
        "steady_batches": batches - WARMUP,
        "steady_wait_ms": wait_ms * (batches - WARMUP),
        "first_wait_ms": wait_ms * epochs,
        "start_ms": 0.0,
        "wait_ms": wait_ms * batches,
        "cpu_ms": wait_ms * batches * cpu,
        "background": False,
        "worker": None,
    }
    return LoaderRun(**{**values, **changes})


def worker(batch_ms, cpu=1.0, queued=0.0, read_rate=0.0, faults=0.0, batches=STEPS):
    """What workers need for `batches`: shares of their wall time, bytes and faults per second."""
    wall = batch_ms * batches
    return {
        "batches": batches,
        "wall_ms": wall,
        "cpu_ms": wall * cpu,
        "queued_ms": wall * queued,
        "read_bytes": wall / 1000 * read_rate,
        "faults": wall / 1000 * faults,
    }


def utilisation(cores=None, gpu=None, disk_sleep=0.0, gpu_missing="the script named no GPU", **series):
    """What the sampler writes; `gpu`: mean busy share of one device; `series` by name, `__` for the dot."""
    means = {name.replace("__", "."): mean for name, mean in series.items()}
    if gpu is not None:
        means["gpu.0.busy_share"] = gpu
    return {
        "record": "utilisation",
        "samples": 100,
        "states": {"gpu": "measured" if gpu is not None else f"unavailable: {gpu_missing}"},
        "series": {name: {"mean": mean, "p50": mean, "p95": mean, "max": mean} for name, mean in means.items()},
        "allowed_cores": {"cores": cores, "source": "affinity"} if cores is not None else None,
        "gpus": [{"index": 0, "uuid": "GPU-0", "name": GPU, "memory_total_bytes": 150e9}] if gpu is not None else [],
        "processes": [
            {"name": "python", "main": main, "pid": pid, "samples": 100, "in_disk_sleep": round(100 * disk_sleep)}
            for pid, main in ((1, True), (2, False))
        ],
    }


def run(step_ms=20.0, steps=STEPS, loaders=(), shares=None, **changes):
    """A run on the CPU whose steps take `step_ms`; `shares` by phase."""
    steady = max(steps - WARMUP, 0)
    values = {
        "steps": steps,
        "warmup": WARMUP,
        "train_batches": steps,
        "step_ms": Spread(step_ms, step_ms * 1.5, steady) if steady else None,
        "segments": segments(step_ms, steady, **(shares or {})) if steady else (),
        "loaders": tuple(loaders),
        "torch": "2.13.0",
        "ranks": (Rank(None, 1, steps, Spread(step_ms, step_ms * 1.5, steady) if steady else None, 0.0),),
        "returncode": 0,
    }
    return Evidence(**{**values, **changes})


def answered(count=STEPS, steady=STEADY, request_ms=20.0, events=(), simulated=False, **changes):
    """A run that neither trains nor reads a loader, and answers requests of four calls each."""
    values = {
        "unit": "request",
        "count": count,
        "calls": 4 * count,
        "steady": steady,
        "total_ms": steady * request_ms,
        "in_calls_ms": steady * request_ms * 0.75,
        "waiting_ms": 0.0,
        "idle_ms": steady * 60.0,
        "most": 2,
        "ms": Spread(request_ms, 30.0, steady) if steady else None,
        "between_ms": Spread(55.0, 90.0, steady) if steady else None,
        "place": ("serve.py", 12),
    }
    requests = Requests(**{**values, **changes})
    evidence = run(steps=0, train_batches=0, requests=requests, events=events, simulated=simulated)
    return replace(evidence, ranks=(Rank(None, 1, 0, None, 0.0),))


def between_calls(cpu_ms, wall_ms=60.0, calls_ms=15.0, package=None):
    """What threads that answer compute between two calls; means."""
    stretch = Stretch(("serve.py", 12), ("serve.py", 12), STEADY * wall_ms, STEADY * cpu_ms, STEADY, package)
    return BetweenCalls((stretch,), STEADY * calls_ms)


def waiting(share, workers=0, step_ms=20.0, cpu=1.0, cost=None, shares=None, changes=None, **others):
    """A run that waits for its loader for a share of its step; `cost`: the workers' figures."""
    wait = share * step_ms
    one = replace(loader(wait, workers, cpu), worker=cost, **(changes or {}))
    return run(step_ms, loaders=[one], shares={"data": share, **(shares or {})}, **others)


def sync(line=25, what="item", per_step=1, blocked_ms=None, steps=STEPS, path="train.py", via=None, **changes):
    """A synchronisation in every step, that blocks `blocked_ms` each time (None: not measured)."""
    values = {
        "kind": "sync",
        "what": what,
        "path": path,
        "line": line,
        "count": per_step * steps,
        "via": via,
        "steady": per_step * (steps - WARMUP),
        "train_turns": steps,
        "blocked_ms": None if blocked_ms is None else blocked_ms * per_step * (steps - WARMUP),
    }
    return Event(**{**values, **changes})


def copy(line=21, what="h2d", **changes):
    """A copy in every step."""
    return sync(line, what, **{"kind": "copy", "nbytes": 1000, **changes})


def finding(
    line=25,
    code="TPL101",
    outcome=Outcome.CONFIRMED,
    path="train.py",
    reason="110 synchronisations in 110 of 110 steps",
    **price,
):
    """A judged finding; `price`: the fields of its verdict."""
    names = {"TPL101": "item-in-hot-loop", "TPL201": "blocking-batch-transfer", "TPL301": "loader-without-workers"}
    return Finding(
        code=code,
        name=names[code],
        location=Location(path, line, 18, line, 29),
        severity=Severity.WARNING,
        confidence=Confidence.CERTAIN,
        message="`loss.item()` waits for the device at every step",
        why_tensor="`loss` is what `criterion(...)` returns",
        why_hot="it runs every training step",
        instead="add up `loss.detach()` and read it once after the loop",
        url="https://example.org/#tpl101",
        verdict=Verdict(outcome, reason, **price),
    )


def sample(steps=3, rank=None, forward_ms=15.0, waits_ms=None, path="train.py", marks=1):
    """Steps after the warm-up: data for 5 ms, then a forward pass in `marks` pieces, with a copy and a wait."""
    spans, instants, turns = [], [], []
    us = 5000 + forward_ms * 1000
    for number in range(steps):
        start = number * us
        spans.append(Span("data", start, 5000, (path, 20), (path, 20)))
        piece = forward_ms * 1000 / marks
        spans += [Span("forward", start + 5000 + n * piece, piece, (path, 20), (path, 23)) for n in range(marks)]
        instants.append(Instant("copy", "h2d", start + 5500, None, (path, 21)))
        wait = None if waits_ms is None else waits_ms * 1000
        instants += [Instant("sync", "item", start + us - 100, wait, (path, 25))] * marks
        turns.append(Turn(WARMUP + 1 + number, start, start + us))
    return Sample(1000.0, tuple(spans), tuple(instants), tuple(turns), rank)


def report(evidence, findings=(), **changes):
    """The judged run, as the runtime mode makes it."""
    diagnoses, problems = diagnose(evidence)
    values = {
        "script": "train.py",
        "run": evidence,
        "report": Report(tuple(findings), problems, files=1),
        "diagnoses": diagnoses,
        "breakdown": breakdown(evidence),
    }
    return RunReport(**{**values, **changes})
