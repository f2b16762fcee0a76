"""TPL918."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.amounts import line, ms, percent
from torchperf_lint.bounds import DATA, DEFAULT, Bound
from torchperf_lint.evidence import Evidence
from torchperf_lint.restarts import restart_ms, restarts
from torchperf_lint.rule import RunRule
from torchperf_lint.whole_run import Evaluation, evaluation_of


class EvaluationBound(RunRule):
    """Evaluation, again and again while it trains, takes much of the run.

    ## What it does
    Says what share of the time after the warm-up goes into passes over loaders that no backward pass follows, beside a
    loop that trains: how many passes there were, how long each took, and after how many steps each came. Such time
    counts in no step, so that the figures of a step say nothing of it.

    ## Why it is slow
    Training stands still meanwhile. Between two passes that lie a few steps apart the model hardly changes.

    ## Example
    ```python
    for step, (images, labels) in enumerate(loader):
        learn(model, images, labels)
        if step % 10 == 0:
            best = max(best, accuracy(model, validation_loader))
    ```

    ## Use instead
    ```python
    for epoch in range(epochs):
        for images, labels in loader:
            learn(model, images, labels)
        best = max(best, accuracy(model, validation_loader))
    ```
    Or a part of the data between, and all of it at the end; larger batches, as no gradients are kept; workers.

    ## When it is fine
    Where each of these results decides something: when to stop, which weights to keep.

    ## Fix safety
    Nothing is changed for you. Of fewer evaluations the best may be another one.

    ## Confirmed by
    Host time of passes over loaders after which nothing was trained, over at least three of them after the warm-up.

    ## References
    - Lightning documentation, Trainer: `check_val_every_n_epoch`, `val_check_interval`, `limit_val_batches`.
    """

    code, name, since = "TPL918", "evaluation-bound", "0.1.0"

    def diagnose(self, run: Evidence) -> Iterator[Bound]:
        """One, where a quarter of the time or more went to three passes or more."""
        found = evaluation_of(run)
        if found is None or found.passes < DEFAULT.passes or _share_but_restarts(run, found) < DEFAULT.evaluation:
            return
        yield Bound(
            self.code,
            self.name,
            f"evaluation takes {percent(found.share)} of the time after the warm-up, and training stands still",
            f"{found.passes} passes of {ms(found.pass_ms)} each, about one every {_steps(run, found)}; they count in "
            f"no step's time{_waits(found)}",
            _advice(found),
            found.share,
        )


def _share_but_restarts(run: Evidence, found: Evaluation) -> float:
    """Without what starting workers anew takes, which TPL905 tells of: passes are not too many because of it.

    Which loader evaluation reads is not recorded: none that gave more batches than evaluation had.
    """
    starts = sum(restart_ms(one) for one in run.loaders if restarts(one) and one.batches <= run.eval_batches)
    return (found.ms - min(starts, _data(found) * found.ms)) / found.whole_ms


def _steps(run: Evidence, found: Evaluation) -> str:
    steps = max(round(run.steady_steps / found.passes), 1)
    return "step" if steps == 1 else f"{steps} steps"


def _data(found: Evaluation) -> float:
    return sum(segment.ms for segment in found.segments if segment.phase in (DATA, "loader start")) / found.ms


def _waits(found: Evaluation) -> str:
    data = _data(found)
    return f"; they wait for data {percent(data)} of their own time" if data >= DEFAULT.named else ""


def _advice(found: Evaluation) -> str:
    longest = max(found.segments, key=lambda segment: segment.ms)
    where = f" (the loop at {line(*longest.end)})" if longest.end is not None else ""
    workers = ", and give their loader workers that persist" if _data(found) >= DEFAULT.named else ""
    return f"evaluate less often, or on less data, or in larger batches{where}{workers}"
