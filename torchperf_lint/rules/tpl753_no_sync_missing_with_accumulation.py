"""TPL753."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.processes.accumulated_gradients import accumulated_gradients
from torchperf_lint.model import Confidence, Finding, Verdict
from torchperf_lint.rule import SourceRule


class NoSyncMissingWithAccumulation(SourceRule):
    """Gradients accumulated over several batches that `DistributedDataParallel` exchanges after each of them.

    ## What it does
    Flags `loss.backward()` in a training loop that runs a `DistributedDataParallel` model, where the optimizer steps
    only every so many batches (`if (i + 1) % k == 0:`, or after a loop over parts of the batch) and nothing in the
    file keeps the gradients from being exchanged. Where an option or a parameter is one by default, so that nothing is
    accumulated unless somebody asks for it, it is only `possible`.

    ## Why it is slow
    Each backward pass averages all gradients over all processes. Only those that the optimizer is about to use need
    that: with k batches a step, k - 1 of k exchanges are for nothing, and each waits for the slowest process.

    ## Example
    ```python
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    def train(model: nn.Module, loader, optimizer, device, local_rank: int):
        model = DistributedDataParallel(model, device_ids=[local_rank])
        for i, (x, y) in enumerate(loader):
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            loss = nn.functional.cross_entropy(model(x), y) / 4
            loss.backward()
            if (i + 1) % 4 == 0:
                optimizer.step()
                optimizer.zero_grad()
    ```

    ## Use instead
    ```python
    from contextlib import nullcontext

    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    def train(model: nn.Module, loader, optimizer, device, local_rank: int):
        model = DistributedDataParallel(model, device_ids=[local_rank])
        for i, (x, y) in enumerate(loader):
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            steps = (i + 1) % 4 == 0
            with nullcontext() if steps else model.no_sync():
                loss = nn.functional.cross_entropy(model(x), y) / 4
                loss.backward()
            if steps:
                optimizer.step()
                optimizer.zero_grad()
    ```
    The forward pass belongs into the context, too: it is there that the exchange is prepared.

    ## When it is fine
    Where each backward pass has its own step, on one device, and where a framework accumulates:
    ```python
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    def train(model: nn.Module, loader, optimizer, scheduler, device, local_rank: int):
        model = DistributedDataParallel(model, device_ids=[local_rank])
        for i, (x, y) in enumerate(loader):
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if (i + 1) % 4 == 0:
                scheduler.step()
    ```
    Models sharded with FSDP are not looked at: there `no_sync` takes memory for whole gradients.

    ## Fix safety
    There is no automatic fix: the context has to hold the forward pass and the backward pass.

    ## Confirmed by
    Nothing: no probe watches collectives. That the line did not run is reported.

    ## References
    - PyTorch documentation of `torch.nn.parallel.DistributedDataParallel.no_sync`.
    - Accelerate, "Performing gradient accumulation", which measures it.
    """

    code, name, since = "TPL753", "no-sync-missing-with-accumulation", "0.1.0"
    triggers = (".backward(",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each backward pass that exchanges gradients before a step needs them."""
        del project
        for found in accumulated_gradients(file):
            yield self.found(
                found.site,
                message=f"`{file.brief(found.site.call)}` exchanges the gradients of `{found.model}` "
                f"(line {found.line}) with all processes after each batch; the optimizer steps once "
                f"for several: {found.waits}",
                instead=f"run forward and backward under `{found.model}.no_sync()` for all batches but the last before "
                "a step",
                hot=found.site.hot,
                confidence=Confidence.POSSIBLE if found.opt_in else None,
            )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """No probe watches what processes exchange."""
        return unmeasured(run, finding.location, "no probe watches what processes exchange")
