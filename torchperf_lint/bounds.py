"""Where the time of a recorded run went: the arithmetic that diagnoses and reports share. Torch-free.

Everything here is None where nothing was measured: in a run shorter than its warm-up, and in a simulated one, whose
times are those of the simulation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from torchperf_lint.evidence import LOADING, Evidence
from torchperf_lint.model import Diagnosis
from torchperf_lint.recorded import Requests, Segment

DATA, FORWARD, BACKWARD, OPTIMIZER = LOADING, "forward", "backward", "optimizer"
COMPILING = "compiling"
WAITING = "waiting for the device"
AFTER = "after the step"
ROLLOUT = "rollout or evaluation"
"""Calls without gradients of what is trained, outside of loaders, and what lies between: an environment's steps."""
BETWEEN = "between steps"
"""From the optimizer's step to the next call of a model, where no loader feeds training: batches, logs, saves."""
OTHER = "other"
PHASES = (ROLLOUT, BETWEEN, DATA, FORWARD, BACKWARD, OPTIMIZER, COMPILING, WAITING, AFTER, OTHER)
"""What a breakdown tells apart, in the order of a step."""
_MERGED = {"loader start": DATA, "after backward": AFTER}
"""Phases of the timeline that a breakdown counts with another; what it does not know is "other"."""


@dataclass(frozen=True)
class Thresholds:
    """When a number is worth a word. Shares are of the step's time on the host unless they say otherwise."""

    named: float = 0.10
    """A share worth naming (TraceML names a loader's wait from 10 % on; PyTorch's TensorBoard profiler from 5 %)."""
    least_ms: float = 0.1
    """Code of the loop shorter than that, per step, is not worth a word: our probes' own cost (benchmarks/overhead.py
    prints some 0.04 ms) is of that order."""
    computing: float = 0.70
    """CPU time / wall time of a fetch from which on it computes (our measurement: 0.99 busy, 0.02 asleep)."""
    asleep: float = 0.30
    """CPU time / wall time of a fetch up to which it waits."""
    queued: float = 0.20
    """Time ready but without a core / wall time, from which on cores are what is short."""
    headroom: float = 1.1
    """Workers for this many times the batches that training takes."""
    busy_device: float = 0.90
    """GPU utilisation from which on the device is the bound; NVML's rate is an upper bound of how busy it was."""
    room: float = 0.50
    """Share of a device's memory, with what the allocator only keeps, up to which a larger batch is worth a word."""
    compute: float = 0.50
    """Share of forward, backward and optimizer from which on a run without a device is bound by them."""
    between_calls: float = 0.25
    """Share of an answer's time that a thread computes between two calls of the model, from which on it is named."""
    disk_sleep: float = 0.10
    """Share of samples in which a process slept on the disk (state D)."""
    pressure: float = 0.10
    """Share of time in which some process stood still for IO (/proc/pressure/io)."""
    read_rate: float = 256 * 1024
    """Bytes a second that one worker fetches from storage: a hard disk gives about 100 random blocks of 4 KiB."""
    faults: float = 10.0
    """Major page faults a second of one worker: mapped files that are not in memory."""
    cheap_us: float = 50.0
    """CPU time of a sample up to which only going through samples one by one can cost: `TensorDataset` took 3 to 7 us
    for two small tensors and their share of `default_collate` (by hand, one thread)."""
    samples: int = 8
    """In a batch, from which on they are worth taking at once."""
    passes: int = 3
    """Passes over a loader that a statement about their starts, or about evaluation, needs."""
    optimizer: float = 0.25
    """Share of the optimizer from which on its step is worth a word."""
    optimizer_ms: float = 1.0
    """An optimizer that takes less, per step, is not worth a word; nor is one beside a forward and a backward pass
    that take less together: a toy, whose shares say nothing of a model's."""
    optimizer_large: float = 0.50
    """The same as `optimizer` for one on the CPU whose tensors are merely large."""
    large_tensor: int = 20_000
    """Elements of a tensor from which on updating them takes longer than the calls that do it: some ten calls of 5 us
    each, and several ns an element (our measurement: torch's AdamW, one thread, unfused, on busy cores: 7)."""
    element_ns: float = 20.0
    """Time of a step per element from which on an optimizer that is not torch's does more than update them."""
    evaluation: float = 0.25
    """Share of evaluation, of the time of training and evaluation, from which on it is worth a word."""


DEFAULT = Thresholds()


@dataclass(frozen=True)
class Bound(Diagnosis):
    """A diagnosis with the share of the step that it is about: what diagnoses are ordered by."""

    share: float | None = None
    actionable: bool = True
    """Whether its advice is something to do, rather than something to know."""
    weight: float | None = None
    """What it is ordered by where that is not its share: the largest cause of a share that sums up several."""


class Phase(NamedTuple):
    """One part of a step."""

    phase: str
    share: float
    """Of the step's time on the host; 0 to 1."""
    ms: float
    """Per step (per batch, where nothing trains)."""


@dataclass(frozen=True)
class Loop:
    """The loop that the run spent its time in, after the warm-up."""

    unit: str
    """"step"; "batch" where nothing trains; "request" or "call" where no loader is read either."""
    turns: int
    total_ms: float
    segments: tuple[Segment, ...]

    def ms(self, *phases: str) -> float:
        """Host time of phases of a breakdown, summed over the run."""
        return sum(segment.ms for segment in self.segments if self.phase_of(segment) in phases)

    def phase_of(self, segment: Segment) -> str:
        """The phase of a breakdown that a segment belongs to."""
        return part_of(segment.phase, self.unit)

    def share(self, *phases: str) -> float:
        """Their share of the loop's time."""
        return self.ms(*phases) / self.total_ms

    @property
    def turn_ms(self) -> float:
        """Mean host time of a step (batch)."""
        return self.total_ms / self.turns

    @property
    def fetches(self) -> int:
        """How often a batch was asked for."""
        return sum(segment.times for segment in self.segments if segment.phase == DATA)


def part_of(phase: str, unit: str) -> str:
    """The part of a step ("step"; "batch" where nothing trains) that a breakdown counts a timeline's phase to."""
    if unit == "batch" and phase == "no backward":
        return FORWARD
    part = _MERGED.get(phase, phase)
    return part if part in PHASES else OTHER


def loop_of(run: Evidence) -> Loop | None:
    """The training loop, else the evaluation loop, else the requests; None where no time was measured."""
    if run.simulated:
        return None
    if run.segments:
        return _loop("step", run.steady_steps, run.segments)
    if run.requests is not None:
        return _loop(run.requests.unit, run.requests.steady, tuple(_answering(run.requests)))
    fetches = sum(segment.times for segment in run.eval_segments if segment.phase == DATA)
    return None if run.steps else _loop("batch", fetches, run.eval_segments)


def _answering(requests: Requests) -> Iterator[Segment]:
    """The parts of an answer; the time between two is none of them."""
    waiting = min(requests.waiting_ms, requests.total_ms)
    forward = max(requests.in_calls_ms - waiting, 0.0)
    parts = ((FORWARD, forward), (WAITING, waiting), (OTHER, requests.total_ms - waiting - forward))
    for phase, spent in parts:
        yield Segment(phase, requests.place, requests.place, max(spent, 0.0), requests.steady)


def _loop(unit: str, turns: int, segments: tuple[Segment, ...]) -> Loop | None:
    total = sum(segment.ms for segment in segments)
    return Loop(unit, turns, total, segments) if turns and total > 0 else None


def breakdown(run: Evidence) -> tuple[Phase, ...] | None:
    """The phases that were seen, in the order of a step; their shares add up to 1. None where nothing was measured."""
    loop = loop_of(run)
    return None if loop is None else tuple(_phases(loop))


def _phases(loop: Loop) -> Iterator[Phase]:
    seen = {loop.phase_of(segment) for segment in loop.segments if segment.ms > 0}
    for phase in PHASES:
        if phase in seen:
            yield Phase(phase, loop.share(phase), loop.ms(phase) / loop.turns)
