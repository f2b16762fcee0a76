"""TPL318."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.files.switches import Mark
from torchperf_lint.facts.loaders.loader_arguments import given, whole_number, workers
from torchperf_lint.facts.loaders.pinning import LOADER_CLASSES
from torchperf_lint.facts.processes.process_flags import explained
from torchperf_lint.facts.syntax.arguments import unpacks
from torchperf_lint.model import Confidence, Finding, Severity, Verdict
from torchperf_lint.rule import SourceRule

_MANY = 16
"""Above so many batches ahead per worker, what is left is memory taken."""
_NAME = "prefetch_factor"


class PrefetchFactorMisuse(SourceRule):
    """A `prefetch_factor` that raises, that leaves workers idle, or that only fills memory.

    ## What it does
    Flags `DataLoader(prefetch_factor=...)` with a number known from the code: any without workers, which raises a
    `ValueError` when the loader is made; more than 16; and, as info, 1.

    ## Why it is slow
    The unit is batches per worker. A worker that may be only one batch ahead stands idle until the loop takes it, so an
    item that takes long stops the step. Many batches ahead smooth no more than a few do: if workers are slower than the
    step on average, the queue is empty whatever its length, and until then `num_workers * prefetch_factor` batches lie
    in shared, perhaps page-locked memory.

    ## Example
    ```python
    from torch.utils.data import DataLoader

    def loader_of(dataset):
        return DataLoader(dataset, batch_size=256, num_workers=8, prefetch_factor=64)
    ```

    ## Use instead
    The default, which is 2; from 4 to 8 where the waits come in bursts:
    ```python
    from torch.utils.data import DataLoader

    def loader_of(dataset):
        return DataLoader(dataset, batch_size=256, num_workers=8, prefetch_factor=4)
    ```

    ## When it is fine
    A long queue of single samples, which are put together later:
    ```python
    from torch.utils.data import DataLoader

    def samples_of(dataset):
        return DataLoader(dataset, batch_size=None, num_workers=8, prefetch_factor=64)
    ```

    ## Fix safety
    There is no automatic fix: what is right follows from how evenly batches come, which a run shows.

    ## Confirmed by
    Nothing: how full the queue is, no probe tells.

    ## References
    - PyTorch documentation of torch.utils.data.DataLoader, `prefetch_factor`: batches loaded in advance by each worker.
    """

    code, name, since = "TPL318", "prefetch-factor-misuse", "0.1.0"
    default = False
    triggers = (_NAME,)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each number that does harm."""
        del project
        for site in file.calls_of(*LOADER_CLASSES):
            found = None if unpacks(site.call) else _harm(site)
            if found is None:
                continue
            value = given(site.call, _NAME)
            assert value is not None
            message, instead, severity = found
            why = explained(file, value)
            yield self.found(
                Mark(file, value, site.function),
                message=f"`{_NAME}={file.brief(value)}` {message}",
                instead=instead,
                severity=severity,
                confidence=Confidence.POSSIBLE if why else Confidence.LIKELY,
            )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """No probe looks into the queue."""
        return unmeasured(run, finding.location, "no probe tells how full the loader's queue is")


def _harm(site: Site) -> tuple[str, str, Severity] | None:
    """What the factor of a loader does, what to write instead, and how bad it is; None where it does no harm."""
    node = given(site.call, _NAME)
    number = whole_number(site, node)
    if node is None or number is None:
        return None
    if workers(site) is None:
        advice = "pass `num_workers`, or leave it out"
        return "raises a ValueError where there are no workers, as here", advice, Severity.WARNING
    if number == 1:
        message = "lets each worker be one batch ahead only: it stands idle until the loop takes that"
        return message, "leave it out: the default is 2", Severity.INFO
    if number <= _MANY or given(site.call, "batch_size") is None:
        return None
    several = "" if (found := workers(site)) is None or found[0] is None else f", {number * found[0]} in all"
    message = f"keeps up to {number} batches in memory for each worker{several}; from a few on, more smooths nothing"
    return (
        message,
        f"`{_NAME}=4`; if steps still wait for data on average, more workers help, not a longer queue",
        (Severity.WARNING),
    )
