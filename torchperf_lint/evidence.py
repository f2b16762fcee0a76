"""What a recorded run shows, as rules and diagnoses read it. Torch-free, standard library only.

Times are milliseconds on the host's clock, after the warm-up, unless a name says otherwise. None is "not measured".
Of several ranks, an event's figures are those of the rank with the most; `by_rank` keeps all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torchperf_lint.model import Finding, Location
from torchperf_lint.nearest import nearest
from torchperf_lint.recorded import Event, LoaderRun, Moment, Origin, Rank, Requests, Segment, Spread

if TYPE_CHECKING:
    from torchperf_lint.spans import Sample
    from torchperf_lint.window import Window

HOT_SHARE = 0.5
"""An event happens "every step" when at least half of the steps (or batches) have it."""
OFTEN_ENOUGH = 3
"""A line that ran so often without an event does not cause it."""
FEWEST_IN_A_ROW = 10
"""So many steps with an event, close together, are a loop of their own and no beginning."""
LOADING = "data"
"""The phase in which a loader is waited for, once a batch."""
CALL = "call of the model"
"""What a turn is where nothing trains and no loader is read."""
_NOT_EACH_TIME = ("compile", "graph-break", "warning")
"""Events whose count says nothing of how often their line ran."""


@dataclass(frozen=True)
class Evidence:
    """Everything a run's record says."""

    events: tuple[Event, ...] = ()
    steps: int = 0
    """How many steps optimizers made: two that step in one turn of the loop make one."""
    optimizer_calls: tuple[int, ...] = ()
    """How often each optimizer stepped."""
    warmup: int = 10
    left_out: int = 0
    """Steps after the warm-up that count in no time, because a profiler's window was open."""
    slowed: float | None = None
    """Median time of the steps after that window over that of those before it; None where either are too few."""
    train_batches: int = 0
    eval_batches: int = 0
    eval_calls: int = 0
    """Turns of evaluation between training steps where neither reads a loader."""
    acts: bool = False
    """Whether some of these calls were in training mode, without gradients, as an agent acts."""
    backwards: int = 0
    """Backward passes that the script has called."""
    requests: Requests | None = None
    """None where something trained or a loader was read: steps, or batches, are the turns then."""
    step_ms: Spread | None = None
    segments: tuple[Segment, ...] = ()
    """Of training steps."""
    eval_segments: tuple[Segment, ...] = ()
    outside_segments: tuple[Segment, ...] = ()
    """Outside of every pass over a loader, of a run whose training reads one."""
    loaders: tuple[LoaderRun, ...] = ()
    lines: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """Path -> line -> how often it ran; counting stops at `OFTEN_ENOUGH`."""
    complete: frozenset[str] = frozenset()
    """Files of which every line that ran is known."""
    device: str | None = None
    """Name of the device; "simulated"; None where there was none."""
    simulated: bool = False
    in_process: bool = False
    """Whether `watch()` recorded it, which sees a block of a process and nothing of the machine."""
    torch: str | None = None
    unwatched: Mapping[str, str] = field(default_factory=dict)
    """Probe -> why it saw nothing, or not all."""
    state: Mapping[str, Any] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    """Path -> SHA-256 of what ran."""
    window: Window | None = None
    """Of the first rank that had one; its figures are in `state` (window.py)."""
    utilisation: Mapping[str, Any] | None = None
    ranks: tuple[Rank, ...] = ()
    missing_ranks: tuple[int, ...] = ()
    returncode: int | None = None
    """How the script ended: its code, or minus the signal; None where nobody saw."""
    wall_s: float | None = None
    started: float | None = None
    """When the first process began, in seconds since 1970."""
    argv: tuple[str, ...] = ()
    platform: str | None = None
    """What it ran on, such as `Linux x86_64`."""
    python: str | None = None
    course: tuple[Moment, ...] = ()
    """About one each second, of the first rank; empty in records of before they were kept."""
    samples: tuple[Sample, ...] = ()
    """The first steps after the warm-up as they ran, in rank order; those that are kept."""
    torn: bool = False

    def at(
        self, where: Location | Finding, *kinds: str, wanted: Callable[[Event], bool] | None = None
    ) -> tuple[Event, ...]:
        """Events of these kinds, `wanted` of them, at a place or in a package called from exactly there.

        At a finding's places only those that are not of another expression of the line (nearest.py).
        """
        chosen = [e for e in self.events if e.kind in kinds and (wanted is None or wanted(e))]
        if not isinstance(where, Finding):
            return tuple(e for e in chosen if _within(e, where) or _from(e, where))
        own = {
            id(event)
            for place in where.places
            for event in nearest([e for e in chosen if _within(e, place) or _from(e, place)], place)
        }
        return tuple(event for event in chosen if id(event) in own)

    def in_gradients(self, finding: Finding, *kinds: str) -> tuple[Event, ...]:
        """Events of these kinds in the gradients of what a finding's places compute, wherever the backward pass is."""
        computed = ((event, event.origin) for event in self.events if event.kind in kinds and event.origin is not None)
        return tuple(
            event for event, origin in computed if any(_within(origin, p) or _from(origin, p) for p in finding.places)
        )

    def ran(self, location: Location) -> int | None:
        """How often the span's first line that ran did run, at most OFTEN_ENOUGH; 0: known not to; None: unknown."""
        lines = self.lines.get(location.path, {})
        times = [lines[n] for n in range(location.line, location.end_line + 1) if n in lines]
        known = location.path in self.complete
        if times and (known or max(times) >= OFTEN_ENOUGH):
            return max(times)
        seen = [e.count for e in self.events if e.kind not in _NOT_EACH_TIME and _within(e, location)]
        if seen:
            return min(max(seen), OFTEN_ENOUGH)
        return 0 if known else None

    @property
    def stayed_on_host(self) -> bool:
        """Whether there was a device and it was left alone: all that stepped is on the CPU, and nothing was copied.

        False where nothing stepped: what a server computes on is not recorded.
        """
        stepped = self.state.get("optimizers") or ()
        on_cpu = all(set(one.get("devices") or ("unknown",)) == {"cpu"} for one in stepped)
        copied = any(event.kind in ("copy", "sync") for event in self.events)
        return self.device is not None and bool(stepped) and on_cpu and not copied

    @property
    def trained(self) -> str:
        """What it did while somebody looked at its switches: `trained`, or `ran` where nothing trains."""
        return "trained" if self.steps or self.backwards else "ran"

    @property
    def raised(self) -> str | None:
        """What ended the script, as `KeyError: 'data', at train.py:12`; None where nothing did, or nobody saw."""
        error, place = self.state.get("raised"), self.state.get("raised_at")
        return None if error is None else f"{error}{f', at {place[0]}:{place[1]}' if place else ''}"

    @property
    def fell_short(self) -> bool:
        """Whether an error, or a signal, ended it before anything trained."""
        return not (self.steps or self.backwards) and bool(self.returncode or self.state.get("raised"))

    def turns(self, events: Iterable[Event]) -> tuple[int, int]:
        """In how many training turns, and evaluation turns, the most frequent of the events happened."""
        chosen = tuple(events)
        return max((e.train_turns for e in chosen), default=0), max((e.eval_turns for e in chosen), default=0)

    def every_step(self, events: Iterable[Event]) -> bool:
        """Whether the events happen in at least half of the training steps, or of the turns of evaluation."""
        chosen = tuple(events)
        return self.every_training_step(chosen) or self._every_turn_of_evaluation(chosen)

    def _every_turn_of_evaluation(self, events: tuple[Event, ...]) -> bool:
        """Of a loop of one or two turns all must have it; one turn tells only what comes in no training step."""
        part, whole = self.evaluated(events)
        if whole >= OFTEN_ENOUGH:
            return _share(part, whole) >= HOT_SHARE
        alone = whole == self.eval_total and not self.turns(events)[0]
        return part >= whole > (0 if alone else 1)

    def too_few(self, events: Iterable[Event]) -> bool:
        """Whether the events come in evaluation alone, in a loop of so few turns that it tells nothing of each turn."""
        chosen = tuple(events)
        return not self.turns(chosen)[0] and 0 < self.evaluated(chosen)[1] < OFTEN_ENOUGH

    def every_training_step(self, events: Iterable[Event]) -> bool:
        """Whether the events happen in at least half of the training steps, or of those of a loop that recurs."""
        chosen = tuple(events)
        return self._share_of_steps(chosen) >= HOT_SHARE or self.of_own_loops(chosen) is not None

    def of_own_loops(self, events: Iterable[Event]) -> tuple[int, int] | None:
        """In how many steps of the optimizers in whose loops they happen, of how many: less than half of all steps."""
        chosen = tuple(events)
        if self._share_of_steps(chosen) >= HOT_SHARE:
            return None
        return max((e.own_loops for e in chosen if e.own_loops is not None), default=None)

    def _share_of_steps(self, chosen: tuple[Event, ...]) -> float:
        in_steps = max((e.train_steps for e in chosen if e.train_steps is not None), default=None)
        train, _ = self.turns(chosen)
        needed = min((n for n in (self.steps, self.train_batches) if n), default=0)
        if in_steps is not None and self.steps:
            train, needed = in_steps, self.steps
        return _share(train, needed)

    def before_steps(self, events: Iterable[Event]) -> bool:
        """Whether all of them came before the first step of training, in no turn of any loop that is known."""
        return bool(self.steps) and all(
            not (e.train_turns or e.eval_turns) and e.first_step == e.over_steps == 1 for e in events
        )

    def evaluated(self, events: Iterable[Event]) -> tuple[int, int]:
        """In how many turns of evaluation, of how many, the one of the events happens that does so most regularly.

        Of how many: those of its own passes, where that is known. What comes in few turns in all tells least.
        """
        each = [(event.eval_turns, self.evaluated_in(event)) for event in events]
        return max(
            each, key=lambda pair: (pair[1] >= OFTEN_ENOUGH, _share(*pair), pair[0]), default=(0, self.eval_total)
        )

    def evaluated_in(self, event: Event) -> int:
        """How many turns the evaluation has in which an event happens."""
        own = event.eval_of or 0
        return min(own, self.eval_total) if own else self.eval_total

    def in_a_row(self, events: Iterable[Event]) -> int | None:
        """Over how many steps one of the events happened in at least half of them: a loop that is one of several.

        Where optimizers have loops of their own, the shortest of these need not be longer than that optimizer's steps.
        """
        fewest = FEWEST_IN_A_ROW
        if len(self.optimizer_calls) > 1 and sum(self.optimizer_calls) == self.steps:
            fewest = min(fewest, max(OFTEN_ENOUGH, min(self.optimizer_calls)))
        counted = ((e, e.train_turns if e.train_steps is None else e.train_steps) for e in events)
        often = ((e, times) for e, times in counted if e.over_steps and times >= fewest)
        return max((e.over_steps for e, times in often if times / e.over_steps >= HOT_SHARE), default=None)

    def loader_at(self, location: Location) -> tuple[LoaderRun, ...]:
        """DataLoaders that were constructed within a span."""
        return tuple(
            loader
            for loader in self.loaders
            if loader.path == location.path
            and loader.line is not None
            and location.line <= loader.line <= location.end_line
        )

    @property
    def eval_total(self) -> int:
        """Turns of evaluation: its batches, or calls of a model where no loader is read."""
        turns = self.eval_batches + self.eval_calls
        if turns or self.requests is None or self.requests.calls < OFTEN_ENOUGH:
            return turns
        return self.requests.calls

    @property
    def eval_unit(self) -> str:
        """What a turn of evaluation is called; of a run that failed before anything trained it may be training's."""
        if self.eval_batches and self.returncode and not self.steps and not self.backwards:
            return "batch"
        if self.eval_calls and not self.eval_batches:
            return "call without gradients" if self.acts else "call in evaluation mode"
        return "evaluation batch" if self.eval_batches or not self.eval_total else CALL

    @property
    def nodes(self) -> int:
        """How many machines the ranks ran on, as far as their records tell; two agents on one machine are two nodes."""
        return max(len({(rank.host, rank.node) for rank in self.ranks}), 1)

    @property
    def ranks_here(self) -> int:
        """How many ranks share the machine of the first, whose cores and devices `utilisation` tells of."""
        return max(sum(rank.host == self.ranks[0].host for rank in self.ranks), 1)

    @property
    def step_total_ms(self) -> float:
        """Host time of training after the warm-up: what shares are shares of."""
        return sum(segment.ms for segment in self.segments)

    @property
    def steady_steps(self) -> int:
        """Steps after the warm-up, without those of a profiler's window."""
        return max(self.steps - self.warmup - self.left_out, 0)

    @property
    def paid_by(self) -> tuple[int, float]:
        """What a price is divided by: steps after the warm-up, else batches if nothing trains; and their time in ms."""
        if self.steady_steps or self.steps or self.requests is not None:
            return self.steady_steps, self.step_total_ms if self.steady_steps else 0.0
        batches = sum(segment.times for segment in self.eval_segments if segment.phase == LOADING)
        return batches, sum(segment.ms for segment in self.eval_segments)

    def bubble_per_step(self, events: Iterable[Event]) -> float | None:
        """Time a step, ms, that the device idled for these: an upper bound; None where no window saw any of them."""
        known = [event.bubble_ms for event in events if event.bubble_ms is not None]
        return sum(known) / self.window.steps if known and self.window is not None else None


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _within(event: Event | Origin, location: Location) -> bool:
    if event.path != location.path or not location.line <= event.line <= location.end_line:
        return False
    if event.column is None or event.end_line is None or event.end_column is None:
        return True
    starts_before_end = (event.line, event.column) < (location.end_line, location.end_column)
    ends_after_start = (event.end_line, event.end_column) > (location.line, location.column)
    return starts_before_end and ends_after_start


def _from(event: Event | Origin, location: Location) -> bool:
    return (
        event.via is not None and event.via[0] == location.path and location.line <= event.via[1] <= location.end_line
    )
