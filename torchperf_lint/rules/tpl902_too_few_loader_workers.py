"""TPL902."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.amounts import percent
from torchperf_lint.bounds import Bound
from torchperf_lint.evidence import Evidence
from torchperf_lint.loading import Loading, loading_of
from torchperf_lint.rule import RunRule


class TooFewLoaderWorkers(RunRule):
    """The loader's workers are too few, and there are cores for more.

    ## What it does
    Says that training waits for data, that more workers would be needed than there are, and how many: as many as make
    batches 1.1 times as fast as training uses them, at most as many as there are cores for.

    ## Why it is slow
    Each worker makes one batch at a time. With too few of them, batches arrive more slowly than they are used.

    ## Example
    Two workers that need 80 ms for a batch each, and a step that takes 20 ms.

    ## Use instead
    The number that the report computes. Set it, run again, and look at the wait once more.

    ## When it is fine
    Where memory does not allow more workers: each holds its own copy of what the data set touches.

    ## Fix safety
    Nothing is changed for you.

    ## Confirmed by
    Wait / step, the workers' time for a batch, the rest of the step, and the cores that the run may use.

    ## References
    - PyTorch documentation, torch.utils.data: multi-process data loading.
    """

    code, name, since = "TPL902", "too-few-loader-workers", "0.1.0"

    def diagnose(self, run: Evidence) -> Iterator[Bound]:
        """One, where more workers would be used and have cores. Sleeping workers are TPL309's and TPL907's."""
        loading = loading_of(run)
        if loading is None or not loading.workers or loading.sleeps or loading.short_of_cores:
            return
        if not loading.more_would_help:
            return
        yield Bound(
            self.code,
            self.name,
            f"{loading.waits()}: {loading.worker_words()} are too few",
            f"{_kind(loading)}; {loading.figures()}",
            loading.at_once() or f"try `num_workers={loading.advised}` at {loading.place}",
            loading.share,
        )


def _kind(loading: Loading) -> str:
    if loading.cpu_share is None:
        return "how much of a fetch is computing was not measured"
    if loading.computes:
        return f"a fetch computes {percent(loading.cpu_share)} of its time"
    return f"a fetch computes {percent(loading.cpu_share)} of its time and waits for something in the rest"
