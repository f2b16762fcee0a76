"""TPL309."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.amounts import percent
from torchperf_lint.bounds import Bound
from torchperf_lint.evidence import Evidence
from torchperf_lint.loading import Loading, loading_of
from torchperf_lint.rule import RunRule


class ManySmallFilesOrSlowStorage(RunRule):
    """Batches come late because they are read from storage that is slow for them.

    ## What it does
    Says that training waits for data, that whoever makes the batches waits most of that time instead of computing, and
    that storage is what it waits for. A wait with no trace of storage is TPL907's.

    ## Why it is slow
    Each small file costs a lookup and a seek, or a round trip to a server. What limits is the number of files a second,
    not the megabytes.

    ## Example
    A million JPEG files on a hard disk, on NFS or behind a bucket mounted as a directory:
    ```python
    loader = DataLoader(ImageFolder("/mnt/bucket/train"), batch_size=256, num_workers=8)
    ```

    ## Use instead
    Samples packed into few large files that are read in order (WebDataset, Parquet, LMDB, HDF5), a local NVMe disk, or
    memory where all of it fits. Until then, more workers: they sleep, so they may be more than there are cores.

    ## When it is fine
    Where only the first pass is slow, because later ones find the files in the page cache.

    ## Fix safety
    Nothing is changed for you.

    ## Confirmed by
    Wait / step, the CPU time of fetches against their wall time, bytes read from storage and major page faults of the
    workers, processes in state D, and IO pressure.

    ## References
    - /proc/pressure: the kernel's documentation of PSI.
    - WebDataset documentation.
    """

    code, name, since = "TPL309", "many-small-files-or-slow-storage", "0.1.0"

    def diagnose(self, run: Evidence) -> Iterator[Bound]:
        """One, where the wait is for storage."""
        loading = loading_of(run)
        if loading is None or not loading.waits_for_storage or loading.cpu_share is None:
            return
        who = "a worker computes" if loading.workers else "the training process computes"
        yield Bound(
            self.code,
            self.name,
            f"{loading.waits()}, which come from slow storage",
            f"{who} {percent(loading.cpu_share)} of the time that a fetch takes; {'; '.join(loading.storage)}"
            f"{_figures(loading)}",
            "pack small files into large ones (WebDataset, LMDB, HDF5), or move the data to a local disk or into "
            f"memory{_workers(loading)}",
            loading.share,
        )


def _workers(loading: Loading) -> str:
    if not loading.more_would_help:
        return ""
    return f"; until then `num_workers={loading.advised}` at {loading.place}"


def _figures(loading: Loading) -> str:
    return f"; {loading.figures()}" if loading.more_would_help else ""
