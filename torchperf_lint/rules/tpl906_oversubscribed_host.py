"""TPL906."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.amounts import percent
from torchperf_lint.bounds import BACKWARD, DEFAULT, FORWARD, OPTIMIZER, Bound, loop_of
from torchperf_lint.evidence import Evidence
from torchperf_lint.loading import Loading, loading_of
from torchperf_lint.machine import machine_of
from torchperf_lint.rule import RunRule


class OversubscribedHost(RunRule):
    """Loader workers are ready to run and have no core, or torch computes with more threads than there are cores.

    ## What it does
    Says that training waits for data while the workers stand in the queue for a core for a share of their time worth
    naming. And, of a run without a device that computes most of its time, that its own threads are more than its cores.

    ## Why it is slow
    More threads compute than there are cores: workers, the training process's own threads, those of other ranks, or
    other programs. They take turns, and the training thread waits with them.

    ## Example
    Eight workers that each use OpenMP or OpenCV threads, on a container with four cores.

    ## Use instead
    No more workers than cores less one for each training process, one thread each (`torch.set_num_threads(1)` is what
    torch sets in its workers; `cv2.setNumThreads(0)`, `OMP_NUM_THREADS=1` for others), or more cores.

    ## When it is fine
    Where the device is busy all the same.

    ## Fix safety
    Nothing is changed for you.

    ## Confirmed by
    The workers' time in the run queue (/proc/thread-self/schedstat) against the wall time of their fetches;
    `torch.get_num_threads()` against the cores that the run may use.

    ## References
    - The kernel's documentation of schedstats.
    """

    code, name, since = "TPL906", "oversubscribed-host", "0.1.0"

    def diagnose(self, run: Evidence) -> Iterator[Bound]:
        """Workers that wait for cores; and threads that compute where there are fewer cores than they."""
        yield from _computing(self, run)
        loading = loading_of(run)
        if loading is None or not loading.workers or not loading.short_of_cores or loading.queued_share is None:
            return
        yield Bound(
            self.code,
            self.name,
            f"{loading.waits()}: its workers are ready but have no core {percent(loading.queued_share)} of the time",
            f"{loading.worker_words()}; {loading.cores_words()}{_threads(run)}",
            _advice(loading),
            loading.share * min(loading.queued_share, 1.0),
        )


def _computing(rule: RunRule, run: Evidence) -> Iterator[Bound]:
    loop, cores, threads = loop_of(run), machine_of(run.utilisation).cores, run.state.get("threads")
    if loop is None or run.device is not None or cores is None or not isinstance(threads, int):
        return
    share, processes = loop.share(FORWARD, BACKWARD, OPTIMIZER), run.ranks_here
    if threads < 2 or threads * processes <= cores or share < DEFAULT.compute:
        return
    each = max(int(cores / processes), 1)
    those = f"{processes} training processes compute with {threads} threads each"
    yield Bound(
        rule.code,
        rule.name,
        f"{those if processes > 1 else f'the training process computes with {threads} threads'} on {cores:g} "
        f"core{'' if cores == 1 else 's'}, where no device takes part",
        f"computing is {percent(share)} of the {loop.unit}'s time; cores by {machine_of(run.utilisation).cores_from}",
        f"`torch.set_num_threads({each})` or OMP_NUM_THREADS={each}: threads that share a core wait for each other in "
        f"every operation",
        share,
    )


def _threads(run: Evidence) -> str:
    threads = run.state.get("threads")
    return f"; the training process computes with {threads} threads" if isinstance(threads, int) else ""


def _advice(loading: Loading) -> str:
    if loading.cap is not None and loading.workers > loading.cap:
        return f"use `num_workers={loading.cap}` at {loading.place}, one thread in each worker, or more cores"
    return "look for other programs and for libraries that start threads of their own (OMP_NUM_THREADS, OpenCV)"
