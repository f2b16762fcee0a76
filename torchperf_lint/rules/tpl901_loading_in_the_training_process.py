"""TPL901."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.amounts import percent
from torchperf_lint.bounds import Bound
from torchperf_lint.evidence import Evidence
from torchperf_lint.loading import Loading, loading_of
from torchperf_lint.rule import RunRule


class LoadingInTheTrainingProcess(RunRule):
    """Batches are made by the training process itself, between two steps.

    ## What it does
    Says that training waits for a DataLoader without workers, for what share of its time, whether that time is spent
    computing or waiting, and how many workers would keep up.

    ## Why it is slow
    Nothing is prepared ahead: reading, decoding and collating happen while the device has nothing to do.

    ## Example
    ```python
    loader = DataLoader(images, batch_size=64)
    ```

    ## Use instead
    ```python
    loader = DataLoader(images, batch_size=64, num_workers=4, persistent_workers=True)
    ```
    The report says the number for your run and what it comes from.

    ## When it is fine
    Where a batch is cheap: handing it over from a worker costs about as much as slicing a tensor.

    ## Fix safety
    Nothing is changed for you. Workers are processes: the data set must be picklable where they are spawned, and the
    script's entry must stand under `if __name__ == "__main__":`.

    ## Confirmed by
    Wait / step, and the waiting thread's CPU time against the wait.

    ## References
    - PyTorch documentation, torch.utils.data: single- and multi-process data loading.
    """

    code, name, since = "TPL901", "loading-in-the-training-process", "0.1.0"

    def diagnose(self, run: Evidence) -> Iterator[Bound]:
        """One, where the loop waits for a loader without workers; storage's share of the blame is TPL309's."""
        loading = loading_of(run)
        if loading is None or loading.workers or (loading.sleeps and loading.storage):
            return
        yield Bound(
            self.code,
            self.name,
            f"{loading.waits()}: it makes batches itself, without workers",
            "; ".join(part for part in (_kind(loading), loading.figures()) if part),
            loading.at_once() or f"{_advice(loading)} at {loading.place}{_cheaper(loading)}",
            loading.share,
        )


def _kind(loading: Loading) -> str:
    if loading.cpu_share is None:
        return "how much of the wait is computing was not measured"
    share = percent(loading.cpu_share)
    if loading.computes:
        return f"it computes {share} of that time{_what(loading)}"
    if loading.sleeps:
        return f"it computes only {share} of that time and waits for the rest, with no sign of local storage"
    return f"it computes {share} of that time and waits for storage or something else in the rest"


def _what(loading: Loading) -> str:
    return "" if loading.making is not None else ": decoding, transforms, collating"


def _advice(loading: Loading) -> str:
    return f"try `num_workers={loading.advised}`" if loading.advised is not None else "try some `num_workers`"


def _cheaper(loading: Loading) -> str:
    if not loading.capped or loading.sleeps:
        return ""
    return f", and {loading.cheaper()}: the cores do not allow as many workers as would be needed"
