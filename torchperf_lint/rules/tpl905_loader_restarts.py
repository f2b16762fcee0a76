"""TPL905."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.amounts import line, ms, percent
from torchperf_lint.bounds import DEFAULT, Bound, Loop, loop_of
from torchperf_lint.evidence import Evidence, LoaderRun
from torchperf_lint.rule import RunRule


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
        loop = loop_of(run)
        if loop is None:
            return
        for loader in run.loaders:
            share = _share(loader, loop, run)
            if share is not None and share >= DEFAULT.named:
                each = _restart_ms(loader) / loader.epochs
                batches = loader.batches / loader.epochs
                yield Bound(
                    self.code,
                    self.name,
                    f"starting a loader's workers for every pass takes {percent(share)} of the time",
                    f"{ms(each)} for each of {loader.epochs} passes, which have {batches:.0f} batches",
                    f"pass `persistent_workers=True` at {line(loader.path, loader.line)}",
                    share,
                )


def _share(loader: LoaderRun, loop: Loop, run: Evidence) -> float | None:
    """Of the whole run's loop time, warm-up included as if it were like the rest."""
    if not loader.workers or loader.background or loader.settings.get("persistent_workers"):
        return None
    if loader.epochs < DEFAULT.passes:
        return None
    turns = run.steps or run.eval_batches
    whole = loop.turn_ms * turns + loader.start_ms
    return _restart_ms(loader) / whole if whole else None


def _restart_ms(loader: LoaderRun) -> float:
    """What starts cost in the whole run, beyond the waits that its batches have anyway."""
    usual = (loader.wait_per_batch_ms or 0.0) * loader.epochs
    return max(loader.start_ms + loader.first_wait_ms - usual, 0.0)
