"""The events file: what a watched run leaves behind. Append-only JSON lines, readable without torch.

Every line is an object with a `record` key. Definitions (`site`, `event`, `loader`) are written once; figures are
cumulative counters, so that the last one wins and a run that was killed is complete up to its last flush:

    header      first line: version, tool, python, platform, pid, argv (redacted), cwd, settings; rank and world as the
                `launcher` says, `run` and `host`, digests of what it calls the run and of the machine's name, `node`
                the machine's number where the launcher uses several (null where it uses one, or does not say);
                `started` is in seconds since 1970; `primary` is false in a process that a watched one started,
                `simulated` and `in_process` (by `watch()`) say how it was watched
    source      path and SHA-256 of a file of the project that was imported
    site        id, place (path, line, columns, function), via (the project's line, for places in packages)
    event       id, kind ("sync", "copy", "collective", "empty-cache", ...), what (of a "sync" in a backward pass that
                searches its gradients for NaN "anomaly-mode"), site, attributes, of them `index_gradient` where a
                simulated device's backward pass copies an index of the host again, and `gradient` the operation whose
                gradient waits or copies there, called in the forward pass at the site `forward`, and `checkpoint`
                 (true) where it saves one; of the kind
                "compile" what became of it ("first", "again", "limit", "failed", "backward"), `last` line of the
                function, whether it is `resumed` after a break, the `guard` that failed and the line `at` which its
                value is used; of the kind "graph-break" "break" or "frame" (the function is not compiled at all) and
                the `reason`, with the `explanation` that Dynamo gives; of the kind "collective" the `group` (where
                somebody named it), its `processes`, and whether it was `asynchronous`; of the kind "warning" the
                category and, where torch gave it, the `text` (its first line)
    count       of an event: n, steady (after the warm-up), train_turns, eval_turns, ms, steady_ms, bytes; in how many
                optimizer steps it came (`train_steps`), and how many batches those evaluation passes have in which it
                did (`eval_of`); how many of n came in training (`trained`), in evaluation (`evaluated`) and in calls of
                a model before anything trained (`before`); the first and the last optimizer step that it came in,
                counted from 1; `closed_by`, where several optimizers close steps: [number, in how many of its steps]
    steps       step counts, by which optimizers (`closed_by`, by number: [steps, in how many rows]), `at` which moment
                (seconds since 1970), how many a profiler's window leaves out, the histogram of step times, and of a
                process that trains with others one for each phase that it goes through alone (`phases`) or where it
                meets them (`together`): [bucket, times], a bucket being the whole part of the logarithm of ms over
                `bucket`; `undisturbed`: those before a profiler's window
                `acts`: some of the calls between steps (`eval_calls`) were in training mode, without gradients
    pace        single steps, thinned out the same way on all ranks: number, then ms in each of `phases`
    spans       the first steps after the warm-up as they ran: `at` which moment, in seconds since 1970, their times
                are 0, which are whole microseconds; `kinds` that rows and events name by number: [phase, from site, to
                site] or [kind, what, site]; `rows` [kind, start, duration]; `events` [kind, when it was over, duration
                or null]; `turns` [number of a step, its end]. Each adds to the one before it, from the places `first`
    time        host time by phase and by the lines that bound it, in ms, after the warm-up: [phase, from site, to
                site, ms, times]
    requests    of a run that answers without a loader: requests and calls of modules (n, steady, most at once; ms, in
                calls, waiting for the device, idle; histograms of times and of those between), places of the calls;
                `between` two calls of one thread, after the warm-up, null where CPU time is not counted: `rows` [from
                site, to site, ms, CPU ms of the thread, times], `within_ms` where the model itself made both calls
    loader      a DataLoader: where it was made, its settings; then its counters; cpu_ms is the CPU time of the
                waiting thread in cpu_of_ms of its waits: those that follow one of under 0.05 ms are left out (in all of
                them where there is no cpu_of_ms); items and collate: names of what gives a sample and puts samples
                together (their sites where the project defines them), collate_ms in all waits, samples collated;
                `begun` where passes over it begin: [site, passes, their batches]
    lines       how often lines of one file ran (counting stops at `cap`); complete or not
    state       a fact about the process (key, value), e.g. the devices; `graph` is what a backward pass computes with,
                `allocations` what the allocator asked for; `kernels` are the figures of a profiler's window: steps,
                count, median_us, busy_share (any kernel), idle_share (nothing), copy_share (copies, no kernel),
                short_share and tensor_core_share (of the kernels' own time), bubble_ms, ms, pageable, pageable_ms;
                `optimizers` are described when they first step: class, devices, dtypes, tensors, parameters, switches,
                the class's `module`, and `step` (path, line, last), the lines of its `step` where the project has it
    window      a few steps under a profiler: `at` which moment (seconds since 1970) they began, steps, left_out (how
                many the profiler was on for), open_ms and close_ms (its own cost), sites [site, what, times, blocked
                ms, bubble ms], copies [site, way, times, ms on the device, bytes], and for a picture, in us since
                `at`: boundaries of the steps, tracks and names, intervals [track, name, start, duration] of the
                device (`cut`: how many more there were), waits [site, what, start, duration] of the host; `marks`: how
                many the probes left; `kernels`: the figures, as in the state of that name, or null
    probe       what watches, what cannot and why, what failed
    utilisation, finding, judged, ended    written by the parent after the run (`judged`: all findings are there);
                `ended` by the process itself where `watch()` recorded it

Times are milliseconds unless a key says otherwise; lines and columns are 1-based; paths are POSIX and, inside the
working directory of the run, relative to it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from torchperf_lint.patterns import pattern

VERSION = 1
SUFFIX = ".events.jsonl"
Record = dict[str, Any]

_SECRET_NAME = pattern(r"(?i)(?:^|[-_.])(?:api)?(?:key|token|secret|password|passwd|pwd|auth|credentials?)(?:$|[-_.])")
_SECRET_VALUE = pattern(
    r"^(hf_|sk-|gh[opsur]_|github_pat_|glpat-|xox[a-z]-|AKIA|eyJ)(?=[\w.-]*\d)[\w-]{12,}(\.[\w-]{12,})*$"
    r"|://[^/\s]*:[^/\s]*@"
)
"""What a service puts before its tokens, then long words with a digit among them: not `hf_trainer.py`."""
HIDDEN = "***"
_TORN = b"\x00\n"
"""Ends a line that was torn; no record holds this byte."""


class UnreadableRecordError(Exception):
    """A file is no events file, or one of a later version."""


class Writer:
    """Appends records; each `write` is one system call, so that a kill tears at most the last line.

    The file is open only meanwhile: a script that closes or counts descriptors meets none of ours.
    """

    def __init__(self, path: str) -> None:
        self.path = path

    def write(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Append records. Raises OSError where the disk says no."""
        text = "".join(json.dumps(record, separators=(",", ":"), default=str) + "\n" for record in records)
        data = text.encode("utf-8", "backslashreplace")
        file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0), 0o644)
        try:
            if _ends_torn(file):
                data = _TORN + data
            while data:
                data = data[os.write(file, data) :]
        finally:
            os.close(file)


def _ends_torn(file: int) -> bool:
    """Whether another process was killed while it wrote the last line: what follows must stay readable."""
    try:
        os.lseek(file, -1, os.SEEK_END)
    except OSError:  # empty, or no file on a disk
        return False
    return os.read(file, 1) not in (b"\n", b"")


@dataclass
class RawRun:
    """One events file, its records sorted by what they are; the last of each counter."""

    path: str
    header: Record
    sources: dict[str, str] = field(default_factory=dict)
    """Path -> SHA-256 of what was imported, hexadecimal."""
    sites: dict[int, Record] = field(default_factory=dict)
    events: dict[int, Record] = field(default_factory=dict)
    counts: dict[int, Record] = field(default_factory=dict)
    loaders: dict[int, Record] = field(default_factory=dict)
    """Definition and last counters of each, merged."""
    lines: dict[str, Record] = field(default_factory=dict)
    """Path -> {"complete": bool, "cap": int, "ran": {line: times}}."""
    state: dict[str, Any] = field(default_factory=dict)
    probes: dict[str, Record] = field(default_factory=dict)
    steps: Record = field(default_factory=dict)
    course: list[Record] = field(default_factory=list)
    """How far it had come each time it wrote: at (seconds since 1970), steps, batches, syncs, passes by loader."""
    pace: dict[int, dict[str, float]] = field(default_factory=dict)
    """Step -> phase -> ms, of the steps that were kept."""
    time: Record = field(default_factory=dict)
    spans: Record = field(default_factory=dict)
    """All of the sample in one record; empty where none was kept."""
    window: Record | None = None
    """What a profiler saw for a few steps."""
    requests: Record | None = None
    """None in records of before they were kept, and where no module was called outside of training and loaders."""
    utilisation: Record | None = None
    findings: list[Record] | None = None
    """None where the run's parent did not get to judge it."""
    ended: Record | None = None
    torn: bool = False
    """Whether a line is incomplete: the process was killed while it wrote."""

    @property
    def place(self) -> tuple[int | None, int | None]:
        """(rank, processes): what the process group says, else what the launcher said."""
        group = self.state.get("distributed") or {}
        if group.get("rank") is not None:
            return group["rank"], group.get("world")
        return self.header.get("rank"), self.header.get("world")


def read(path: str) -> RawRun:
    """One events file. Raises UnreadableRecordError, and OSError where it cannot be opened."""
    with open(path, "rb") as file:  # noqa: PTH123 -- read as bytes: a torn line may end within a character
        lines = file.read().split(b"\n")
    torn = lines.pop() != b""
    whole = [(number, line) for number, line in enumerate(lines, 1) if not line.endswith(_TORN[:-1])]
    records = [_record(number, line) for number, line in whole if line.strip()]
    if not records or records[0].get("record") != "header":
        raise UnreadableRecordError("not an events file of torchperf-lint")
    if records[0].get("version") != VERSION:
        raise UnreadableRecordError(f"its version is {records[0].get('version')}, and this one reads version {VERSION}")
    run = RawRun(path, records[0], torn=torn or len(whole) < len(lines))
    for record in records[1:]:
        _take(run, record)
    return run


def _take(run: RawRun, record: Record) -> None:
    take = _TAKERS.get(str(record["record"]))
    try:
        if take is not None:
            take(run, record)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnreadableRecordError(f"a record of the kind {record['record']} is damaged: {error!r}") from error


def _record(number: int, line: bytes) -> Record:
    try:
        record = json.loads(line)
    except ValueError:
        record = None
    if not isinstance(record, dict) or "record" not in record:
        raise UnreadableRecordError(f"line {number}: not a record of an events file")
    return record


def _lines(run: RawRun, record: Record) -> None:
    known = run.lines.setdefault(record["path"], {"complete": False, "cap": record["cap"], "ran": {}})
    known["complete"] = record["complete"]
    known["ran"].update({int(line): times for line, times in record["ran"].items()})


def _steps(run: RawRun, record: Record) -> None:
    run.steps = record
    at = record.get("at")
    if isinstance(at, (int, float)) and isfinite(at):
        # What a flush says of events stands before this, what it says of loaders behind it.
        syncs = sum(count["n"] for number, count in run.counts.items() if _is_sync(run.events.get(number)))
        batches = record.get("train_batches", 0) + record.get("eval_batches", 0)
        passes = {number: loader.get("epochs", 0) for number, loader in run.loaders.items()}
        row = {"at": at, "steps": record.get("steps", 0), "batches": batches, "syncs": syncs, "passes": passes}
        run.course.append(row)


def _is_sync(definition: Record | None) -> bool:
    return definition is not None and definition["kind"] == "sync"


def _loader(run: RawRun, record: Record) -> None:
    run.loaders.setdefault(record["id"], {}).update(record)
    if run.course and "epochs" in record:
        run.course[-1]["passes"][record["id"]] = record["epochs"]


_GROWING = ("rows", "events", "turns")


def _spans(run: RawRun, record: Record) -> None:
    for name, first in zip(_GROWING, record["first"], strict=True):
        record[name] = [*run.spans.get(name, ())[:first], *record[name]]
    run.spans = record


def _pace(run: RawRun, record: Record) -> None:
    phases = record["phases"]
    run.pace.update({int(step): dict(zip(phases, ms, strict=True)) for step, *ms in record["steps"]})


def _finding(run: RawRun, record: Record) -> None:
    run.findings = [*(run.findings or ()), record["finding"]]


def _judged(run: RawRun, record: Record) -> None:
    del record
    run.findings = run.findings or []


_ZERO = ("steady", "train_turns", "eval_turns", "bytes", "first", "last")
_NOT_COUNTED: Record = {**dict.fromkeys(_ZERO, 0), "ms": None, "steady_ms": None}
"""What a count that says nothing of these means."""
_TAKERS: dict[str, Callable[[RawRun, Record], None]] = {
    "source": lambda run, r: run.sources.__setitem__(r["path"], r["sha256"]),
    "site": lambda run, r: run.sites.__setitem__(r["id"], r),
    "event": lambda run, r: run.events.__setitem__(r["id"], r),
    "count": lambda run, r: run.counts.__setitem__(r["id"], {**_NOT_COUNTED, **r}),
    "loader": _loader,
    "lines": _lines,
    "state": lambda run, r: run.state.__setitem__(r["key"], r["value"]),
    "probe": lambda run, r: run.probes.__setitem__(r["name"], r),
    "steps": _steps,
    "pace": _pace,
    "time": lambda run, r: setattr(run, "time", r),
    "spans": _spans,
    "window": lambda run, r: setattr(run, "window", r),
    "requests": lambda run, r: setattr(run, "requests", r),
    "utilisation": lambda run, r: setattr(run, "utilisation", r),
    "finding": _finding,
    "judged": _judged,
    "ended": lambda run, r: setattr(run, "ended", r),
}


def redacted(arguments: Iterable[str]) -> list[str]:
    """A command line without what looks like a secret: by the option's name, or by the value's shape."""
    shown = []
    hide_next = False
    for argument in arguments:
        name, equals, _ = argument.partition("=")
        if hide_next and not argument.startswith("-"):
            shown.append(HIDDEN)
        elif equals and (_SECRET_NAME.search(name) or _SECRET_VALUE.search(argument.partition("=")[2])):
            shown.append(f"{name}={HIDDEN}")
        else:
            shown.append(HIDDEN if _SECRET_VALUE.search(argument) else argument)
        hide_next = argument.startswith("-") and not equals and bool(_SECRET_NAME.search(name))
    return shown
