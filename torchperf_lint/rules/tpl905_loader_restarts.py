"""TPL905."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.amounts import line, ms, percent
from torchperf_lint.bounds import DEFAULT, Bound, loop_of
from torchperf_lint.evidence import Evidence
from torchperf_lint.restarts import restart_ms, restarts
from torchperf_lint.rule import RunRule
from torchperf_lint.whole_run import loops_ms


class LoaderRestarts(RunRule):
    """A loader's workers are started anew for every pass, and passes are short.

    ## What it does
    Says that starting workers and waiting for the first batch of a pass takes a share of training worth naming, for a
    loader whose workers do not persist.

    ## Why it is slow
    Every pass forks or spawns the workers again, each imports or opens what it needs, and the pipeline fills from
    nothing.

    ## Example
    ```python
    loader = DataLoader(images, batch_size=64, num_workers=8)
    ```

    ## Use instead
    ```python
    loader = DataLoader(images, batch_size=64, num_workers=8, persistent_workers=True)
    ```

    ## When it is fine
    Where a pass takes minutes.

    ## Fix safety
    Nothing is changed for you. Persistent workers keep their copy of the data set: what the main process changes in it
    between passes does not reach them.

    ## Confirmed by
    The time that `iter()` of the loader and the first batch of each pass took, over at least three passes.

    ## References
    - PyTorch documentation, torch.utils.data.DataLoader: persistent_workers.
    """

    code, name, since = "TPL905", "loader-restarts", "0.1.0"

    def diagnose(self, run: Evidence) -> Iterator[Bound]:
        """One for each loader whose starts are worth naming."""
        if loop_of(run) is None:
            return
        lost = sum(restart_ms(loader) for loader in run.loaders if restarts(loader))
        whole = max(loops_ms(run), lost)
        for loader in run.loaders:
            share = restart_ms(loader) / whole if whole and restarts(loader) else None
            if share is not None and share >= DEFAULT.named:
                each = restart_ms(loader) / loader.epochs
                batches = loader.batches / loader.epochs
                yield Bound(
                    self.code,
                    self.name,
                    f"starting a loader's workers for every pass takes {percent(share)} of the time",
                    f"{ms(each)} for each of {loader.epochs} passes, which have {batches:.0f} batches",
                    f"pass `persistent_workers=True` at {line(loader.path, loader.line)}",
                    share,
                )
