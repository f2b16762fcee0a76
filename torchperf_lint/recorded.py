"""What a recorded run consists of: events, loaders, stretches of time, requests, ranks. Torch-free.

Times are milliseconds on the host's clock, after the warm-up, unless a name says otherwise. None is "not measured".
Of several ranks, an event's figures are those of the rank with the most; `by_rank` keeps all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchperf_lint.answering import BetweenCalls


@dataclass(frozen=True)
class Origin:
    """Where the forward pass called what a gradient is computed of."""

    path: str
    line: int
    column: int | None
    end_line: int | None
    end_column: int | None
    via: tuple[str, int] | None
    """The project's line that led here, where the place is in an installed package."""

    @property
    def shown(self) -> tuple[str, int]:
        """(path, line) of what a reader can change."""
        return self.via or (self.path, self.line)


@dataclass(frozen=True)
class Event:
    """Something that happened at one place in one way, counted over the run."""

    kind: str
    """One of `sync`, `copy`, `collective`, `empty-cache`, `collect`, `kept-graph`, `data-parallel`, `compile`,
    `graph-break`, `warning`, `unsupported`."""
    what: str
    """Of syncs: what waited ("item", "stream", ...; see waits.py); of copies: "h2d" or "d2h"; of compilations: see
    compiling.py; of warnings: their category, or "other" where they are not about torch."""
    path: str
    line: int
    count: int
    """The whole run, warm-up included."""
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    function: str = ""
    via: tuple[str, int] | None = None
    """The project's line that led here, where the place is in an installed package."""
    steady: int = 0
    """Count after the warm-up."""
    train_turns: int = 0
    """In how many training steps (batches, where a loader feeds them) it happened."""
    eval_turns: int = 0
    train_steps: int | None = None
    """In how many optimizer steps it happened in training; None as for `trained`."""
    own_loops: tuple[int, int] | None = None
    """In how many steps of optimizers with loops of their own, of how many; None where it is of no such loop."""
    eval_of: int | None = None
    """How many batches (or calls) the evaluation passes have in which it happened; None as for `evaluated`."""
    trained: int | None = None
    """How much of `count` came in training; None where nothing did, and in records of before this was counted."""
    evaluated: int | None = None
    """The same of evaluation."""
    before: int = 0
    """How much of it came in calls of a model before anything trained: of the first step, or to fill a buffer."""
    over_steps: int = 0
    """How many optimizer steps lie between the first and the last that it happened in, both counted; 0: unknown."""
    first_step: int = 0
    """The first of these, from 1; 0: unknown."""
    blocked_ms: float | None = None
    """Host time blocked after the warm-up, summed."""
    total_ms: float | None = None
    """Of compilations: what they took in the whole run, warm-up included."""
    bubble_ms: float | None = None
    """Time that the device idled for it, summed over the steps of the run's window; None where it was in none."""
    copy_ms: float | None = None
    """Of copies: their time on the device, summed over the steps of the window."""
    nbytes: int = 0
    attributes: Mapping[str, Any] = field(default_factory=dict)
    origin: Origin | None = None
    """Of what happens within autograd's formula for a gradient; None where that is not known."""
    by_rank: tuple[int, ...] = ()
    """Counts of each rank, in rank order; empty for one process."""


@dataclass(frozen=True)
class Begun:
    """The passes over a loader that begin at one line."""

    place: tuple[str, int] | None
    """(path, line)."""
    passes: int
    batches: int


@dataclass(frozen=True)
class LoaderRun:
    """One DataLoader of the run; of several ranks, the one that waited longest."""

    path: str | None
    line: int | None
    """Where it was constructed."""
    settings: Mapping[str, Any]
    """class, dataset, samples, num_workers, batch_size, pin_memory, prefetch_factor, persistent_workers."""
    batches: int
    epochs: int
    steady_batches: int
    """Batches after the warm-up, the first of each pass left out."""
    steady_wait_ms: float
    first_wait_ms: float
    """Sum over passes: workers start and the first batch is made."""
    start_ms: float
    wait_ms: float
    cpu_ms: float
    """CPU time of the waiting thread within `cpu_of_ms` of its waits."""
    background: bool
    """Read by a thread other than the training one."""
    worker: Mapping[str, float | None] | None
    """Sums over workers: batches, wall_ms, cpu_ms, queued_ms, read_bytes, faults, collate_ms, collated; None without
    workers."""

    read_bytes: float | None = None
    """What the kernel fetched from storage for the waiting thread, whole run; None where it does not say."""
    queued_ms: float | None = None
    """Time the waiting thread was ready to run and had no core, within `queued_of_ms` of its waits."""
    queued_of_ms: float = 0.0
    collate_ms: float | None = None
    """Time in `collate_fn` within all waits; None with workers (see `worker`) and in old records."""
    collated: float | None = None
    """Samples that went through it."""
    items_at: tuple[str, int] | None = None
    """Where the project defines what gives a sample: `__getitem__` of the data set."""
    collate_at: tuple[str, int] | None = None
    begun: tuple[Begun, ...] | None = None
    """None in records of before it was kept."""
    cpu_of_ms: float | None = None
    """None in records that measured it in all waits; later ones leave waits out that follow one of under 0.05 ms."""

    @property
    def cpu_share(self) -> float | None:
        """CPU time of the waiting thread / its waits; None where nothing was measured."""
        waited = self.wait_ms if self.cpu_of_ms is None else self.cpu_of_ms
        return self.cpu_ms / waited if waited else None

    @property
    def wait_per_batch_ms(self) -> float | None:
        """Median-free mean wait after the warm-up; None where no batch came after it."""
        return self.steady_wait_ms / self.steady_batches if self.steady_batches else None

    @property
    def workers(self) -> int:
        """`num_workers` as it was at run time."""
        return int(self.settings.get("num_workers") or 0)


@dataclass(frozen=True)
class Segment:
    """Host time between two marks of the loop."""

    phase: str
    start: tuple[str, int] | None
    """(path, line) of the mark it begins at."""
    end: tuple[str, int] | None
    ms: float
    times: int
    package: str | None = None
    """The installed package in which it ends, which the project's line only called: a framework's own loop."""


@dataclass(frozen=True)
class Spread:
    """A distribution in two numbers, ms; accurate to 2 %."""

    median: float
    p95: float
    count: int
    lower: float | None = None
    """The quartiles: half of all lies between them."""
    upper: float | None = None


@dataclass(frozen=True)
class Requests:
    """What a run answered that neither trained nor read a loader; times after the warm-up, ms."""

    unit: str
    """"request": an outermost block without gradients that holds calls; else "call", of a module."""
    count: int
    calls: int
    """Calls of modules from outside of all modules; one request may hold many (a token each)."""
    steady: int
    """Count after the warm-up."""
    total_ms: float
    in_calls_ms: float
    waiting_ms: float
    """Time within them in which the host stood still for the device."""
    idle_ms: float
    """Time in which none was under way, between two: what waits for the next is no fault of the model."""
    most: int
    """So many at once."""
    ms: Spread | None
    between_ms: Spread | None
    place: tuple[str, int] | None
    """(path, line) where most calls come from."""
    at_place: int | None = None
    """How many of `calls` that is; None where nobody counted."""
    between: BetweenCalls | None = None
    """What the threads that answer do between two calls; None where their CPU time was not taken."""

    @property
    def idle_share(self) -> float | None:
        """Share of the time in which none was under way; None where no time was measured."""
        whole = self.idle_ms + self.total_ms
        return self.idle_ms / whole if whole > 0 else None


@dataclass(frozen=True)
class Moment:
    """How far a run had come at some moment; every number since its start."""

    at: float
    """Seconds since 1970."""
    steps: int
    batches: int
    syncs: int
    passes: int
    """Passes begun over the loader that gave most batches."""


@dataclass(frozen=True)
class Rank:
    """One training process."""

    rank: int | None
    pid: int
    steps: int
    step_ms: Spread | None
    wait_ms: float
    """Time in loaders, after the warm-up."""
    alone_ms: Mapping[str, float] = field(default_factory=dict)
    """Phase -> median per step of what it does before it meets the others: data, forward, after the step."""
    group: int | None = None
    """How many processes its process group has; None where it has none, or that was not recorded."""
    together_ms: Mapping[str, float] = field(default_factory=dict)
    """Where it meets the others, medians per step: backward; collectives, which are those that Python calls."""
    single_steps: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    """Step -> phase -> ms, of some steps after the warm-up: the same ones on all ranks, where they were kept."""
    host: str | None = None
    """A digest of its machine's name; None in records of before it was kept."""
    node: int | None = None
    """The launcher's number of its node, where there are several and it says which."""
    ended: bool = False
    """Whether somebody saw it end."""
    returncode: int | None = None
    """How it ended: its code, or minus the signal; None where nobody saw."""
