"""A recorder with a clock that stands still, a loop of made-up marks, and the record they leave."""

import json
import os
import re
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from torchperf_lint.events import VERSION, read
from torchperf_lint.runtime import recorder as recorder_module
from torchperf_lint.runtime import request
from torchperf_lint.runtime.recorder import Recorder
from torchperf_lint.runtime.sites import Sites
from torchperf_lint.runtime.timeline import Timeline

ROOT = Path(__file__).parents[2]
TRAIN = ROOT / "fixtures" / "train"
HEADER = {"version": VERSION, "tool": "0", "cwd": "/project", "argv": ["train.py"], "rank": None, "world": None}
_OURS = ("RANK", "WORLD_SIZE", "PYTHONPATH", request.VARIABLE)
_LAUNCHERS = ("SLURM_", "OMPI_", "PMI")
ENVIRONMENT = {n: value for n, value in os.environ.items() if n not in _OURS and not n.startswith(_LAUNCHERS)} | {
    "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests" / "quick")]),
    "OMP_NUM_THREADS": "1",
}
UNCOMPILED = {"UNCOMPILED": "1"}
"""For scripts that compile nothing, nor use what does: torch is imported in half of the time."""
_COMPILES = re.compile(
    r"compil|distributed|accelerate|lightning|transformers|checkpoint|multiprocessing|ignite|skorch|stable_baselines"
)


class Clock:
    """Seconds that pass only when told."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


class Iterator:
    """A loader's iterator, as far as a timeline looks at it."""


class Loop:
    """Drives a timeline by hand; every mark names a piece of time, given in seconds."""

    def __init__(self, directory, monkeypatch, warmup=0):
        self.clock = Clock()
        monkeypatch.setattr(recorder_module, "perf_counter", self.clock)
        self.recorder = recorder(directory)
        self.timeline = Timeline(self.recorder, warmup, self.clock)
        self.timeline.may_defer = False  # marks come here directly, so events must not wait for theirs
        self.scopes = self.recorder.scopes
        self.steady_s = 0.0
        """What a stop-watch says that runs from the first mark after the warm-up to the last mark."""
        self._last = None
        self._before_pass = 0.0

    def _passed(self, seconds, mark, *args):
        self.clock.now += seconds
        was_steady = self.scopes.steady and self._last is not None
        before = self.clock.now
        mark(None, *args)
        if was_steady and self.scopes.steady:
            self.steady_s += before - self._last
        if was_steady and not self.scopes.steady:
            self.steady_s = self._before_pass
        self._last = self.clock.now

    def fetch(self, iterator, wait=0.25, before=0.0, got=True, inside=None):
        """`inside`: what happens while the batch is made, where it is known of which pass it is."""
        if inside is None:
            self._passed(before, self.timeline.fetch_begins)
        else:
            scope = self.timeline.scope_of(iterator)
            self._passed(before, lambda key: self.timeline.fetch_begins(key, *self.timeline.now(), scope))
            inside()
        self._passed(wait, self.timeline.fetch_ends, iterator, got)

    def begin(self, start=0.0, iterator=None, before=0.0, loader=None, made=None):
        """A new pass over a loader; `loader`: what stands for it, where several passes are over the same;
        `made`: where that was made.
        """
        iterator = iterator or Iterator()
        self._passed(before, self.timeline.iter_begins)
        self._before_pass = self.steady_s
        self._passed(start, self.timeline.iter_ends, iterator, loader, made)
        return iterator

    def backward(self, forward=0.5, backward=1.0):
        self._passed(forward, self.timeline.backward_begins)
        self._passed(backward, self.timeline.backward_ends)

    def call(self, before):
        """A model is called, for the first time since a step."""
        self._passed(before, lambda key: self.timeline.called(key, *self.timeline.now()))

    def step(self, optimizer=1, before=0.0, takes=0.125, inside=None):
        self._passed(before, self.timeline.step_begins)
        if inside is not None:
            inside()
        self._passed(takes, self.timeline.step_ends, optimizer)

    def train(self, iterator, batches, event=None):
        for _ in range(batches):
            self.fetch(iterator)
            if event:
                self.event(event)
            self.backward()
            self.step()

    def evaluate(self, batches, event=None, before_stop=True):
        """A pass over a loader of its own, to its end or, without `before_stop`, left early."""
        iterator = self.begin()
        for _ in range(batches):
            self.fetch(iterator)
            if event:
                self.event(event)
            self.clock.now += 0.5
        if before_stop:
            self.fetch(iterator, wait=0.0, got=False)
        return iterator

    def zero_grad(self, *parameters):
        """Of these parameters, where optimizers have been said to have some."""
        self.scopes.throws_away(frozenset(parameters))

    def event(self, what, **more):
        self.recorder.event("sync", what, key=None, depth=1, **more)

    def record(self):
        self.recorder.flush()
        return read(self.recorder.path)

    def counts(self):
        """What -> its record."""
        run = self.record()
        return {run.events[number]["what"]: count for number, count in run.counts.items()}

    def turns(self):
        """What -> (count, training turns, evaluation turns)."""
        figures = self.counts().items()
        return {what: (c["n"], c.get("train_turns", 0), c.get("eval_turns", 0)) for what, c in figures}

    def phases(self, kind="train"):
        """Phase -> seconds."""
        found = {}
        for phase, _, _, ms, _ in self.record().time[kind]:
            found[phase] = found.get(phase, 0.0) + ms / 1000
        return found

    def recorded_s(self):
        time_ = self.record().time
        return sum(row[3] for kind in ("train", "eval", "outside") for row in time_[kind]) / 1000


def recorder(directory, **more):
    return Recorder(str(Path(directory) / "run.events.jsonl"), HEADER, Sites(None, str(directory)), **more)


def write_run(path, *records, **header):
    """An events file of these records."""
    lines = [{"record": "header", **HEADER, **header}, *records]
    Path(path).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


class Ran:
    """A command that has ended."""

    def __init__(self, done, record, wall_s):
        self.returncode, self.out, self.err = done.returncode, done.stdout, done.stderr
        self.path, self.wall_s = record, wall_s

    @property
    def record(self):
        return read(str(self.path))


def watch(directory, script, *arguments, options=(), env=None, name="run"):
    """`python -m torchperf_lint --runtime` of a script (a path, or a text that is saved first)."""
    if isinstance(script, Path):
        text = script.read_text(encoding="utf-8") if script.is_file() else "compiled, perhaps"
    else:
        text, script = script, Path(directory) / f"{name}.py"
        script.write_text(textwrap.dedent(text), encoding="utf-8")
    env = {**({} if _COMPILES.search(text) else UNCOMPILED), **(env or {})}
    record = Path(directory) / f"{name}.events.jsonl"
    words = ["-m", "torchperf_lint", "--runtime", "--events", str(record), *options, str(script), *arguments]
    started = time.monotonic()
    done = run([sys.executable, *words], directory, env)
    return Ran(done, record, time.monotonic() - started)


def watch_all(directory, scripts):
    """Several at once: name -> (path, *arguments); most of the time goes into importing torch."""
    with ThreadPoolExecutor(3) as pool:
        waiting = {n: pool.submit(watch, directory, *words, name=n) for n, words in scripts.items()}
        return {name: ran.result() for name, ran in waiting.items()}


def run(command, directory, env=None):
    return subprocess.run(
        command,
        cwd=directory,
        env={**ENVIRONMENT, **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
