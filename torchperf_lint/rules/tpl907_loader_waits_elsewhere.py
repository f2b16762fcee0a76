"""TPL907."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.amounts import percent
from torchperf_lint.bounds import Bound
from torchperf_lint.evidence import Evidence
from torchperf_lint.loading import Loading, loading_of
from torchperf_lint.rule import RunRule


class LoaderWaitsElsewhere(RunRule):
    """Loader workers wait for something that is neither a core nor local storage.

    ## What it does
    Says that training waits for data while the workers sleep, and that nothing shows them at local storage: what they
    wait for is the network, a lock, another process, or a plain sleep.

    ## Why it is slow
    Each worker makes one batch at a time and sleeps through most of it.

    ## Example
    A data set that asks a server for every sample, or that holds a lock which all workers share.

    ## Use instead
    Requests for several samples at once, a local copy, no shared lock; and more workers than cores, since they sleep.

    ## When it is fine
    Where the server is meant to be the limit.

    ## Fix safety
    Nothing is changed for you.

    ## Confirmed by
    Wait / step; the workers' CPU time and time in the run queue against their wall time; no bytes from storage, no page
    faults and no process in state D worth naming.

    ## References
    - PyTorch documentation, torch.utils.data: multi-process data loading.
    """

    code, name, since = "TPL907", "loader-waits-elsewhere", "0.1.0"

    def diagnose(self, run: Evidence) -> Iterator[Bound]:
        """One, where workers sleep and storage is not why. Without workers it is TPL901's."""
        loading = loading_of(run)
        if loading is None or not loading.workers or not loading.sleeps or loading.enough or loading.storage:
            return
        yield Bound(
            self.code,
            self.name,
            f"{loading.waits()}: its workers wait for something other than CPU or local storage",
            f"a fetch computes {percent(loading.cpu_share or 0.0)} of its time, and nothing shows it at the disk: "
            f"network, locks, or sleep{_figures(loading)}",
            f"see what `__getitem__` waits for{_workers(loading)}",
            loading.share,
        )


def _workers(loading: Loading) -> str:
    if not loading.more_would_help:
        return f" ({loading.place})"
    return f"; meanwhile `num_workers={loading.advised}` at {loading.place}"


def _figures(loading: Loading) -> str:
    return f"; {loading.figures()}" if loading.more_would_help else ""
