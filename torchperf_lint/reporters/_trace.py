"""A run as a trace that ui.perfetto.dev and chrome://tracing open: what the machine did, how far the run came, and the
first steps after the warm-up as they ran.

JSON in the Trace Event Format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU/preview
Times are microseconds from the first moment that the record holds; a process is a rank.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, pairwise
from typing import Any

from torchperf_lint.amounts import line
from torchperf_lint.events import RawRun
from torchperf_lint.machine import finite
from torchperf_lint.reporters._words import printable
from torchperf_lint.run_report import RunReport
from torchperf_lint.spans import Instant, Sample, Span, place_of, sample_of

Entry = dict[str, Any]
_MACHINE = 1_000_000
"""The process of what no rank alone did; ranks are numbered from 0."""
_STEPS, _SYNCS, _COPIES, _PASSES, _TRACKS = 1, 2, 3, 4, 100
"""Threads; 0 means the idle one to some readers. Those of a profiler's window are numbered from the last one on."""
_THREADS = {
    _STEPS: "steps (host time)",
    _SYNCS: "synchronisations",
    _COPIES: "copies",
    _PASSES: "passes over the loader (to about a second)",
}
_OF_KIND = {"sync": _SYNCS, "copy": _COPIES}
_ORDER = {"M": 0}


def trace_of(report: RunReport) -> str:
    """The trace of all ranks; what the record lacks is named in `otherData` and at the trace's start."""
    runs = _trained(report.runs)
    pids = _pids(runs)
    simulated = report.run.simulated
    zero = min((at for run in runs for at in _begins(run)), default=0.0)
    entries = [] if simulated else [entry for run in runs[:1] for entry in _machine(run, zero)]
    for run, pid in zip(runs, pids, strict=True):
        entries += _rank(run, pid, zero, simulated)
    lacks = _lacks(report)
    entries += [_instant(f"this trace lacks {what}", pids[0] if pids else 0, _STEPS, 0.0, {}) for what in lacks]
    entries.sort(key=lambda e: (_ORDER.get(e["ph"], 1), e.get("ts", 0), -e.get("dur", 0)))
    other = {"tool": "torchperf-lint", "script": printable(report.script), "lacks": lacks}
    whole = {"traceEvents": entries, "displayTimeUnit": "ms", "otherData": other}
    return json.dumps(whole, allow_nan=False, separators=(",", ":")) + "\n"


def _lacks(report: RunReport) -> list[str]:
    if report.run.simulated:
        return ["times: on a simulated device they mean nothing"]
    lacks = []
    if not (report.run.utilisation or {}).get("course"):
        lacks.append("GPU, CPU and disk over time: the record holds none")
    if not report.run.samples:
        lacks.append("steps as they ran: none came after the warm-up, or an earlier version wrote the record")
    return lacks


def _begins(run: RawRun) -> Iterator[float]:
    """The moments, in seconds since 1970, from which its parts count."""
    course = run.course[0].get("at") if run.course else None
    for record in (run.utilisation or {}).get("started"), course, run.spans.get("at"), (run.window or {}).get("at"):
        at = finite(record)
        if at is not None:
            yield at


def _trained(runs: Sequence[RawRun]) -> list[RawRun]:
    """The first, which stands for the machine, and the others that have a loop to show."""
    return [run for number, run in enumerate(runs) if not number or run.steps.get("steps")]


def _pids(runs: Sequence[RawRun]) -> list[int]:
    """A number for each: its rank, else the next that is free."""
    pids: list[int] = []
    ranks = [run.place[0] for run in runs]
    for rank in ranks:
        free = next(n for n in count() if n not in pids and n not in ranks)
        pids.append(free if rank is None or rank in pids else rank)
    return pids


def _machine(run: RawRun, zero: float) -> Iterator[Entry]:
    """A counter for each series that is kept over time."""
    record = run.utilisation or {}
    started = finite(record.get("started"))
    rows = [row for row in record.get("course") or () if isinstance(row, Mapping)]
    if not rows:
        return
    # Records of before that was kept hold nothing else with a moment.
    began = zero if started is None else started
    yield from _named(_MACHINE, "the machine", {})
    for row in rows:
        at = finite(row.get("t"))
        for name, value in sorted(row.items()):
            number = finite(value)
            if name != "t" and at is not None and number is not None:
                series, unit, factor = _unit(name)
                yield _counter(series, unit, _MACHINE, _us(began + at - zero), number * factor)


def _unit(name: str) -> tuple[str, str, float]:
    """A series' name without its unit, which readers put behind it, the unit, and what makes a number one of it."""
    for ending, unit, factor in (("_share", "%", 100.0), ("_bytes_per_s", "MB/s", 1e-6), ("_bytes", "MB", 1e-6)):
        if name.endswith(ending):
            return name.removesuffix(ending), unit, factor
    return name.removesuffix("_cores"), "cores", 1.0


def _rank(run: RawRun, pid: int, zero: float, simulated: bool) -> Iterator[Entry]:
    rank = run.place[0]
    name, node = f"rank {rank}" if rank is not None else "the script", run.header.get("node")
    name += f", node {node}" if node is not None else ""
    yield from _named(pid, f"{name} (process {run.header.get('pid', 'unknown')})", _THREADS)
    if simulated:
        return
    yield from _progress(run, pid, zero)
    sample = sample_of(run)
    if sample is not None:
        yield from _sampled(sample, pid, _us(sample.at - zero))
    if run.window is not None:
        yield from _window(run, run.window, pid, zero)


def _named(pid: int, name: str, threads: Mapping[int, str]) -> Iterator[Entry]:
    yield {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
    yield {"ph": "M", "name": "process_sort_index", "pid": pid, "tid": 0, "args": {"sort_index": pid}}
    for tid, thread in threads.items():
        yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": thread}}
        yield {"ph": "M", "name": "thread_sort_index", "pid": pid, "tid": tid, "args": {"sort_index": tid}}


def _progress(run: RawRun, pid: int, zero: float) -> Iterator[Entry]:
    """Steps, batches and synchronisations since the start, and the passes over the loader that gave most batches."""
    batches = {number: record.get("batches", 0) for number, record in run.loaders.items()}
    main = max(batches, key=lambda number: batches[number], default=None)
    begun: list[tuple[float, int]] = []
    for row in run.course:
        ts = _us(row["at"] - zero)
        for name in ("steps", "batches", "syncs"):
            if finite(row[name]) is not None:
                yield _counter("synchronisations" if name == "syncs" else name, "since the start", pid, ts, row[name])
        number = row["passes"].get(main, 0)
        if number > (begun[-1][1] if begun else 0):
            begun.append((ts, number))
    if begun:
        last = _us(run.course[-1]["at"] - zero)
        for (start, number), (end, _) in pairwise([*begun, (max(last, begun[-1][0]), 0)]):
            yield _complete(f"pass {number}", "pass", pid, _PASSES, start, end - start)


def _sampled(sample: Sample, pid: int, start: float) -> Iterator[Entry]:
    for turn in sample.turns:
        yield _complete(f"step {turn.number}", "step", pid, _STEPS, start + turn.start_us, turn.end_us - turn.start_us)
    for span, begins, us in _within_turns(sample):
        places = {"from": _at(span.begins), "to": _at(span.ends)}
        yield _complete(span.phase, "phase", pid, _STEPS, start + begins, us, places)
    over: dict[int, float] = {}
    for instant in sample.instants:
        tid = _OF_KIND.get(instant.kind, _SYNCS)
        yield _happened(instant, pid, tid, start, over.get(tid, 0.0))
        over[tid] = instant.at_us


def _within_turns(sample: Sample) -> Iterator[tuple[Span, float, float]]:
    """Each span from where the one before it is over, cut where a step ends: Perfetto drops slices that do not nest."""
    ends, free = sorted(turn.end_us for turn in sample.turns), 0.0
    for span in sorted(sample.spans, key=lambda span: span.start_us):
        over = span.start_us + span.us
        begins = max(span.start_us, free)
        if begins > over:
            continue
        for end in (*ends[bisect_right(ends, begins) : bisect_left(ends, over)], over):
            yield span, begins, end - begins
            begins = end
        free = over


def _happened(instant: Instant, pid: int, tid: int, start: float, free: float) -> Entry:
    """An event at its place; one that took time is as long as that, from where its track is free."""
    name = f"{instant.what} {_at(instant.place)}"
    args = {"kind": instant.kind, "what": instant.what, "place": _at(instant.place)}
    if instant.us is None:
        return _instant(name, pid, tid, start + instant.at_us, args)
    begins = max(instant.at_us - instant.us, free)
    return _complete(name, instant.kind, pid, tid, start + begins, instant.at_us - begins, args)


def _window(run: RawRun, window: Mapping[str, Any], pid: int, zero: float) -> Iterator[Entry]:
    """What a profiler saw for a few steps: a thread for the steps, one for the host's waits, one for each track."""
    at, names, tracks = finite(window.get("at")), window.get("names") or (), window.get("tracks") or ()
    if at is None:
        return
    bounds = window.get("boundaries") or ()
    rows = [("steps", f"step {n} of the window", a, b - a) for n, (a, b) in enumerate(pairwise(bounds), 1)]
    waits = window.get("waits") or ()
    rows += [("waits of the host", f"{what} {_at(place_of(run, site))}", a, us) for site, what, a, us in waits]
    rows += [(_name(track, tracks), _name(name, names), a, us) for track, name, a, us in window.get("intervals") or ()]
    threads: dict[str, int] = {}
    over: dict[str, float] = {}
    for track, name, start_us, dur_us in rows:
        start, us = finite(start_us), finite(dur_us)
        if start is None or us is None or us < 0:
            continue
        tid = threads.setdefault(track, _TRACKS + len(threads))
        # Whole microseconds make neighbours overlap by one.
        begins = over[track] if start < over.get(track, 0.0) < start + us else start
        over[track] = max(over.get(track, 0.0), start + us)
        yield _complete(name, "window", pid, tid, _us(at - zero) + begins, start + us - begins)
    for track, tid in threads.items():
        yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": f"window: {track}"}}
        yield {"ph": "M", "name": "thread_sort_index", "pid": pid, "tid": tid, "args": {"sort_index": tid}}


def _name(said: object, names: Sequence[object]) -> str:
    """A name, or the one that a number stands for."""
    return printable(str(names[said] if isinstance(said, int) and 0 <= said < len(names) else said))


def _counter(name: str, unit: str, pid: int, ts: float, value: float) -> Entry:
    return {"ph": "C", "name": printable(name), "pid": pid, "tid": 0, "ts": ts, "args": {unit: round(value, 4)}}


def _complete(
    name: str, category: str, pid: int, tid: int, ts: float, us: float, args: Mapping[str, str] | None = None
) -> Entry:
    shown = {"ph": "X", "name": printable(name), "cat": category, "pid": pid, "tid": tid}
    return {**shown, "ts": round(ts, 3), "dur": round(us, 3), "args": dict(args or {})}


def _instant(name: str, pid: int, tid: int, ts: float, args: Mapping[str, str]) -> Entry:
    shown = {"ph": "i", "s": "t", "name": printable(name), "cat": "event", "pid": pid, "tid": tid}
    return {**shown, "ts": round(ts, 3), "args": dict(args)}


def _at(place: tuple[str, int] | None) -> str:
    return printable(line(*(place or (None, None))))


def _us(seconds: float) -> int:
    return round(max(seconds, 0.0) * 1e6)
