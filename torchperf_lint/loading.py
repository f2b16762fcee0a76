"""Whether training waits for data, for which loader, and what keeps that loader: the arithmetic of the loader rules.

Judged on wait / step, never on how full a queue is: queues read 0 % full while the true wait was 28 %, and full just
before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, floor

from torchperf_lint.amounts import line, ms, percent, size
from torchperf_lint.bounds import DATA, DEFAULT, Loop, Thresholds, loop_of
from torchperf_lint.evidence import Evidence
from torchperf_lint.machine import Machine, machine_of
from torchperf_lint.making import Making, making_of
from torchperf_lint.recorded import LoaderRun


@dataclass(frozen=True)
class Loading:
    """The loop waits for this loader, for a share worth naming."""

    loop: Loop
    loader: LoaderRun
    share: float
    """Wait / step."""
    machine: Machine
    ranks: int
    """Training processes that share the machine's cores."""
    thresholds: Thresholds = DEFAULT

    @property
    def workers(self) -> int:
        """`num_workers` of the loader."""
        return self.loader.workers

    @property
    def cpu_share(self) -> float | None:
        """CPU time / wall time where batches are made (in the waiting thread, or in the workers), together with the
        time that was ready to compute but had no core."""
        share = self._computing
        # Threads of a fetch may compute side by side, and clocks differ by a little.
        return None if share is None else min(share + (self.queued_share or 0.0), 1.0)

    @property
    def _computing(self) -> float | None:
        if not self.workers:
            return self.loader.cpu_share
        spent, wall = self._worker("cpu_ms"), self._worker("wall_ms")
        return spent / wall if spent is not None and wall else None

    @property
    def queued_share(self) -> float | None:
        """How much of that wall time was ready but had no core."""
        loader = self.loader
        if not self.workers:
            return (
                loader.queued_ms / loader.queued_of_ms if loader.queued_ms is not None and loader.queued_of_ms else None
            )
        queued, wall = self._worker("queued_ms"), self._worker("wall_ms")
        return queued / wall if queued is not None and wall else None

    @property
    def computes(self) -> bool:
        """Making a batch is computing."""
        return self.cpu_share is not None and self.cpu_share >= self.thresholds.computing

    @property
    def sleeps(self) -> bool:
        """Making a batch is waiting for something."""
        return self.cpu_share is not None and self.cpu_share <= self.thresholds.asleep

    @property
    def waits_for_storage(self) -> bool:
        """Making a batch is not only computing, and something shows it at storage."""
        return self.cpu_share is not None and not self.computes and bool(self.storage)

    @property
    def short_of_cores(self) -> bool:
        """Whoever makes batches waits for a core."""
        return self.queued_share is not None and self.queued_share >= self.thresholds.queued

    @property
    def batch_ms(self) -> float | None:
        """What one batch costs where it is made: the wait without workers, else the fetch in a worker."""
        if not self.workers:
            return self.loader.wait_per_batch_ms
        wall, batches = self._worker("wall_ms"), self._worker("batches")
        return wall / batches if wall and batches else None

    @property
    def rest_ms(self) -> float:
        """What the loop does with one batch besides waiting for it."""
        return (self.loop.total_ms - self.loop.ms(DATA)) / max(self.loop.fetches, 1)

    @property
    def needed(self) -> int | None:
        """Workers that would make batches as fast as they are used, with some headroom; None where unknown."""
        if self.batch_ms is None or self.rest_ms <= 0:
            return None
        return max(ceil(self.thresholds.headroom * self.batch_ms / self.rest_ms), 1)

    @property
    def cap(self) -> int | None:
        """Workers that the cores are good for: those of each training process, less one for itself. Workers that
        sleep need no core: for them it is twice the cores."""
        cores = self.machine.cores
        if cores is None:
            return None
        each = cores / self.ranks
        return max(floor(2 * each) if self.sleeps else floor(each) - 1, 1)

    @property
    def advised(self) -> int | None:
        """`needed`, as far as the cores go."""
        if self.needed is None or self.cap is None:
            return self.needed
        return min(self.needed, self.cap)

    @property
    def more_would_help(self) -> bool:
        """More workers than there are would be used, and have cores."""
        return self.advised is not None and self.advised > self.workers

    @property
    def enough(self) -> bool:
        """By what a batch costs there are workers enough, and still training waits."""
        return bool(self.workers) and self.needed is not None and self.needed <= self.workers

    @property
    def capped(self) -> bool:
        """The cores allow fewer workers than would be needed."""
        return self.needed is not None and self.cap is not None and self.needed > self.cap

    @property
    def making(self) -> Making | None:
        """What a batch's cost is made of; None where it was not measured."""
        return making_of(self.loader, self.batch_ms, self._computing, self.thresholds)

    @property
    def one_by_one(self) -> Making | None:
        """Making a batch is going through cheap samples; None where it is something else, or unknown."""
        making = self.making
        return making if making and making.only_overhead and self.computes and not self.storage else None

    def at_once(self) -> str | None:
        """The advice to take whole batches by index, where samples cost next to nothing."""
        making = self.one_by_one
        if making is None:
            return None
        # Only of its own data set does torch say that a sample is nothing but an index.
        certain = making.items is not None and making.items.name.startswith("TensorDataset.")
        where = "" if certain or making.items is None else f"if {making.items} only indexes what is in memory, "
        return (
            f"{where}take whole batches by index at {self.place}, not {making.samples:.0f} samples one by one: a "
            f"`BatchSampler` as `sampler` with `batch_size=None`, or index the tensors without a loader"
        )

    def cheaper(self) -> str:
        """What to make cheaper: the samples, or what puts them together."""
        making = self.making
        if making is None or making.most is None:
            return "make samples cheaper"
        if making.most == making.collate:
            return f"make {making.most} cheaper, which puts samples together"
        return f"make samples cheaper, in {making.most}"

    @property
    def place(self) -> str:
        """Where the loader is made: `train.py:12`."""
        return line(self.loader.path, self.loader.line)

    @property
    def storage(self) -> tuple[str, ...]:
        """What points to storage as the thing that is waited for, in words; empty where nothing does."""
        signs = tuple(self._signs_of_storage())
        pressure = self.machine.mean("pressure.io_share")
        # Other programs press on storage, too: this alone proves nothing.
        if signs and pressure is not None and pressure >= self.thresholds.pressure:
            return (*signs, f"some process of the machine stood still for IO {percent(pressure)} of the time")
        return signs

    def worker_words(self) -> str:
        """`4 workers`."""
        return _workers(self.workers)

    def waits(self) -> str:
        """The wait in words."""
        wait = self.loader.wait_per_batch_ms
        each = f", {ms(wait)} a batch" if wait is not None else ""
        return f"training waits for data {percent(self.share)} of the {self.loop.unit}'s time{each}"

    def figures(self) -> str:
        """What the number of workers comes from; empty where it is unknown."""
        if self.needed is None or self.batch_ms is None:
            return ""
        cost = "a batch costs" if not self.workers else "a batch costs a worker"
        text = f"{cost} {ms(self.batch_ms)}, the rest of the {self.loop.unit} takes {ms(self.rest_ms)} a batch: "
        text += (
            f"{self.thresholds.headroom:g} x {ms(self.batch_ms)} / {ms(self.rest_ms)} asks for {_workers(self.needed)}"
        )
        return f"{text}; {self.cores_words()}{self.made_words()}"

    def made_words(self) -> str:
        """What a batch's cost is made of, where that is known: begins with a semicolon."""
        making = self.making
        if making is None:
            return ""
        each = f"; a sample takes {making.sample_us:.0f} us of CPU time in all" if making.only_overhead else ""
        return f"; {making.said()}{each}"

    def cores_words(self) -> str:
        """The cores there are, in words."""
        if self.machine.cores is None or self.cap is None:
            return "how many cores it may use is not known"
        shared = f" for {self.ranks} training processes" if self.ranks > 1 else ""
        cores = f"{self.machine.cores:g} core{'' if self.machine.cores == 1 else 's'}"
        which = " that sleep" if self.sleeps else ""
        return f"{cores} allowed ({self.machine.cores_from}){shared}, good for {_workers(self.cap)}{which}"

    def _worker(self, figure: str) -> float | None:
        return self.loader.worker.get(figure) if self.loader.worker else None

    def _signs_of_storage(self) -> Iterator[str]:
        limits, main = self.thresholds, not self.workers
        wall_s = (self.loader.wait_ms if main else self._worker("wall_ms") or 0.0) / 1000
        read, faults = self.loader.read_bytes if main else self._worker("read_bytes"), self._worker("faults")
        if read is not None and wall_s and read / wall_s >= limits.read_rate:
            yield f"{'it' if main else 'each worker'} fetched {size(read / wall_s)}/s from storage meanwhile"
        if faults is not None and wall_s and faults / wall_s >= limits.faults:
            yield f"each worker took {faults / wall_s:.0f} major page faults a second"
        asleep = self.machine.disk_sleep(main)
        if asleep is not None and asleep >= limits.disk_sleep:
            who = "the main process" if main else "its children"
            yield f"{who} slept on the disk in {percent(asleep)} of the samples"


def _workers(count: int) -> str:
    return f"{count} worker{'' if count == 1 else 's'}"


def loading_of(run: Evidence, thresholds: Thresholds = DEFAULT) -> Loading | None:
    """The loader that the loop waits for; None where it waits for none, or for less than is worth naming."""
    loop, loader = loop_of(run), loader_of(run)
    if loop is None or loader is None:
        return None
    wait = loop.ms(DATA)
    if loader.workers:
        # The first batch of a pass waits for workers to start: another matter, see TPL905.
        wait = min(wait, loader.steady_wait_ms)
    share = wait / loop.total_ms
    if share < thresholds.named:
        return None
    return Loading(loop, loader, share, machine_of(run.utilisation), run.ranks_here, thresholds)


def loader_of(run: Evidence) -> LoaderRun | None:
    """The loader that the loop reads: the one with as many batches as the loop had turns, else the one waited for."""
    read = [loader for loader in run.loaders if loader.batches and not loader.background]
    turns = run.train_batches if run.steps else run.eval_batches
    feeds = [loader for loader in read if loader.batches == turns]
    return max(feeds or read, key=lambda loader: loader.steady_wait_ms, default=None)
