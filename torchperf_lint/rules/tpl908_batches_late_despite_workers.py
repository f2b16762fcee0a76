"""TPL908."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.amounts import percent
from torchperf_lint.bounds import Bound
from torchperf_lint.evidence import Evidence
from torchperf_lint.loading import Loading, loading_of
from torchperf_lint.rule import RunRule


class BatchesLateDespiteWorkers(RunRule):
    """There are workers enough for what a batch costs, and still training waits for data.

    ## What it does
    Says that training waits for data although the workers, by the time that their batches take them, could make batches
    as fast as training uses them; or that it waits and nobody could see what a batch costs the workers.

    ## Why it is slow
    Batches come in bursts (some cost much more than others, and too few are prepared ahead), or handing them over is
    what costs: pickling, copying through shared memory, or pinning large batches made of many small tensors.

    ## Example
    ```python
    loader = DataLoader(texts, batch_size=64, num_workers=8, prefetch_factor=2, collate_fn=list)
    ```

    ## Use instead
    One tensor for a batch instead of a list of samples, and a larger `prefetch_factor` where batches differ in cost.

    ## When it is fine
    Never worth more than the wait it shows.

    ## Fix safety
    Nothing is changed for you. A larger `prefetch_factor` takes more memory.

    ## Confirmed by
    Wait / step, the workers' time for a batch, and the waiting thread's CPU time within the wait.

    ## References
    - PyTorch documentation, torch.utils.data.DataLoader: prefetch_factor.
    """

    code, name, since = "TPL908", "batches-late-despite-workers", "0.1.0"

    def diagnose(self, run: Evidence) -> Iterator[Bound]:
        """One, where the number of workers does not explain the wait, nor do storage and cores."""
        loading = loading_of(run)
        if loading is None or not loading.workers or loading.short_of_cores or loading.waits_for_storage:
            return
        unknown = _unknown(loading)
        if unknown is None and not loading.enough:
            return
        yield Bound(
            self.code,
            self.name,
            f"{loading.waits()}, though it has {loading.worker_words()}{'' if unknown else ', which should keep up'}",
            f"{unknown or loading.figures()}{_handing_over(loading)}",
            f"try a larger `prefetch_factor` at {loading.place} if batches differ in cost, and collate them into few "
            f"tensors",
            loading.share,
        )


def _unknown(loading: Loading) -> str | None:
    """What would have been needed to say more; None where all was measured that other rules judge by."""
    if loading.needed is None:
        return "what a batch costs them was not measured"
    if loading.cpu_share is None and not loading.more_would_help and not loading.enough:
        return f"how much of a fetch is computing was not measured; {loading.figures()}"
    return None


def _handing_over(loading: Loading) -> str:
    share = loading.loader.cpu_share
    return f"; the training process computes {percent(share)} of its waits" if share is not None else ""
