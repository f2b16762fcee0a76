"""Whether runs that a device bounds get their diagnosis, from records that a small model of a device makes.

    python benchmarks/device_bound.py

No card is needed, and none is measured: a host and one stream are played on paper. The host launches kernels and
copies one after the other, at a given cost each; the stream runs them in order; a synchronisation returns when the
stream is empty. What a profiler's window would have recorded of that is written as an events file, with the probes'
own figures, and judged by `--report` as any record. The table shows the strongest diagnosis and what it rests on.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from torchperf_lint.activities import CALL, COPY, KERNEL, MARK, Activity
from torchperf_lint.events import VERSION
from torchperf_lint.runtime import window_record

STEPS, WARMUP, PROFILED = 60, 10, 8
ITEM_SITE, COPY_SITE = 1, 2
HOST, STREAM = 1, 7


@dataclass(frozen=True)
class Loop:
    """One training step, times in microseconds."""

    name: str
    right: str
    kernels: int
    kernel_us: float
    launch_us: float = 10.0
    """What launching costs the host, Python included."""
    python_us: float = 100.0
    """What the host does behind the read, before it launches again."""
    reads: bool = False
    """Whether it reads the loss behind the step."""
    copy_us: float = 0.0
    """A batch's copy from pageable memory, for which the host waits."""


LOOPS = (
    Loop("reads the loss, then logs", "TPL903", kernels=100, kernel_us=40, python_us=4000, reads=True),
    Loop("2000 small kernels", "TPL658", kernels=2000, kernel_us=3, launch_us=10),
    Loop("copies pageable batches", "TPL911", kernels=100, kernel_us=40, copy_us=6000),
    Loop("large kernels, reads the loss", "TPL909", kernels=100, kernel_us=200, reads=True),
)


class Played:
    """The host's and the stream's clocks, and what a profiler would have seen."""

    def __init__(self):
        self.host = self.stream = 0.0
        self.seen = []
        self.phases = dict.fromkeys(("forward", "waiting for the device", "after the step", "optimizer"), 0.0)
        self.blocked = 0.0

    def spend(self, phase, us):
        self.host += us
        self.phases[phase] += us

    def launch(self, kind, name, us, cost, phase):
        number = len(self.seen) + 1
        self.seen.append(Activity(CALL, "cudaLaunchKernel", self.host, self.host + cost, HOST, number))
        start = max(self.host + cost / 2, self.stream)
        self.stream = start + us
        self.seen.append(Activity(kind, name, start, self.stream, STREAM, number))
        self.spend(phase, cost)

    def wait(self, site, what):
        self.seen.append(Activity(MARK, f"tpl.sync:{site}:{what}", self.host, self.host + 1, HOST))
        end = max(self.stream, self.host) + 5
        self.seen.append(Activity(CALL, "cudaStreamSynchronize", self.host + 1, end, HOST))
        self.blocked += end - self.host
        self.spend("waiting for the device", end - self.host)

    def step(self, loop):
        if loop.copy_us:
            began = self.host
            self.launch(COPY, "Memcpy HtoD (Pageable -> Device)", loop.copy_us, 10, "forward")
            self.wait(COPY_SITE, "copy")
            took = int(self.host - began)
            self.seen.append(Activity(MARK, f"tpl.copy:{COPY_SITE}:h2d:{took}:1000000", self.host, self.host + 1, HOST))
        for number in range(loop.kernels):
            phase = "optimizer" if number >= 0.8 * loop.kernels else "forward"
            self.launch(KERNEL, "elementwise_kernel", loop.kernel_us, loop.launch_us, phase)
        if loop.reads:
            self.wait(ITEM_SITE, "item")
        self.spend("after the step", min(loop.python_us, 100))
        self.spend("forward", max(loop.python_us - 100, 0))


def records(loop):
    """The lines of an events file."""
    played = Played()
    boundaries = []
    profiled_from = WARMUP + 5
    for step in range(STEPS):
        if step == WARMUP:
            played.phases, played.blocked = dict.fromkeys(played.phases, 0.0), 0.0
        played.step(loop)
        if profiled_from <= step <= profiled_from + PROFILED:
            boundaries.append(played.host)
    window = window_record.of(played.seen, boundaries, 1e9, PROFILED + 1) | {"open_ms": 5.0, "close_ms": 50.0}
    steady = STEPS - WARMUP
    lines = {ITEM_SITE: 30, COPY_SITE: 20}
    yield {"record": "header", "version": VERSION, "tool": "played", "python": "3", "pid": 1, "rank": None,
           "world": None, "argv": ["train.py"], "cwd": ".", "primary": True, "simulated": False,
           "settings": {"warmup": WARMUP}}  # fmt: skip
    yield {"record": "state", "key": "torch", "value": "played"}
    yield {"record": "state", "key": "gpus", "value": [{"index": 0, "name": "a device on paper", "uuid": None}]}
    yield from ({"record": "site", "id": site, "path": "train.py", "line": line, "column": 1, "end_line": line,
                 "end_column": 80, "function": "train", "via": None} for site, line in lines.items())  # fmt: skip
    events = [("sync", "item", ITEM_SITE)] * loop.reads + [("sync", "copy", COPY_SITE)] * bool(loop.copy_us)
    for number, (kind, what, site) in enumerate(events, 1):
        yield {"record": "event", "id": number, "kind": kind, "what": what, "site": site}
        yield {"record": "count", "id": number, "n": STEPS, "steady": steady, "train_turns": STEPS,
               "ms": played.blocked / 1000, "steady_ms": played.blocked / 1000}  # fmt: skip
    if loop.copy_us:
        yield {"record": "event", "id": 9, "kind": "copy", "what": "h2d", "site": COPY_SITE, "pinned": False,
               "blocking": True}  # fmt: skip
        yield {"record": "count", "id": 9, "n": STEPS, "steady": steady, "train_turns": STEPS, "bytes": STEPS * 10**6}
    rows = [[phase, None, None, us / 1000, steady] for phase, us in played.phases.items() if us]
    yield {"record": "steps", "at": 1e9, "steps": STEPS, "warmup": WARMUP, "backwards": STEPS,
           "optimizer_calls": [STEPS], "train_batches": 0, "eval_batches": 0, "bucket": 0.02, "histogram": [],
           "phases": {}}  # fmt: skip
    yield {"record": "time", "train": rows, "eval": [], "outside": []}
    yield window
    yield {"record": "state", "key": "kernels", "value": window["kernels"]}


def diagnosed(loop, folder):
    """The `runtime` object of the JSON report."""
    events, report = folder / "run.events.jsonl", folder / "run.json"
    events.write_text("".join(json.dumps(record) + "\n" for record in records(loop)), encoding="utf-8")
    command = [sys.executable, "-m", "torchperf_lint", "--isolated", "--report", str(events), "--exit-zero"]
    subprocess.run([*command, "--output-format", "json", "--output-file", str(report)], check=True, cwd=folder)
    return json.loads(report.read_text(encoding="utf-8"))["runtime"]


def main():
    print("synthetic records (no card): the strongest diagnosis")
    for loop in LOOPS:
        with tempfile.TemporaryDirectory() as name:
            first = diagnosed(loop, Path(name))["diagnoses"][0]
        mark = "right" if first["code"] == loop.right else f"WRONG, {loop.right} expected"
        print(f"{loop.name:31} {first['code']} {mark}\n    {first['title']}\n    {first['evidence']}")


if __name__ == "__main__":
    main()
