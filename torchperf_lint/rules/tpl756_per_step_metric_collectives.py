"""TPL756."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from torchperf_lint.confirming import by_collectives
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.processes.collectives import Collective, needless_collectives
from torchperf_lint.facts.processes.metric_syncs import computed_each_batch
from torchperf_lint.facts.processes.process_flags import explained
from torchperf_lint.model import Finding, Related, Severity, Verdict
from torchperf_lint.rule import SourceRule


class PerStepMetricCollectives(SourceRule):
    """The loss exchanged between all processes in every step only to be shown, and barriers in the step.

    ## What it does
    Flags collectives of `torch.distributed`, Accelerate and Fabric (`all_reduce`, `gather`, `reduce`, ...) in a
    training loop, or in the function of its step, that are given the loss, a term of it, the sum of losses that were
    accumulated, the mapping that the loss came in or each entry of it, the norm that clipping gives, how long something
    took, or a number of the host that a log alone takes, where no gradient is computed of the result, no branch that
    leaves the turn or makes the step reads it (one that ends the program where the loss is not finite does not count),
    and no cadence is around them; those in any code of a step that are given a detached copy, or an entry of what the
    model gives that nothing else takes, and that is read for a log afterwards; the same of functions of the project
    that do no more; metrics of torchmetrics that a `validation_step` computes for each batch to log them; and
    `barrier()` and `wait_for_everyone()` there, unless each turn writes or reads files beside them (where a branch does
    so now and then, the barrier belongs into it); calls of functions of the project that are a barrier and nothing
    else, too. A barrier in a callback's hook of every batch is one as well, also by the collectives of Composer
    (`composer.utils.dist`).

    ## Why it is slow
    A collective ends when the slowest process has come to it: each step pays for the differences between processes
    once more, beside the exchange of gradients, which does so anyway. A barrier also makes the host wait for the
    device.

    ## Example
    ```python
    import torch.distributed as dist
    from torch import nn

    def train(model: nn.Module, loader, optimizer, device):
        total = 0.0
        for x, y in loader:
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            shown = loss.detach()
            dist.all_reduce(shown)
            total += shown
        return total
    ```

    ## Use instead
    ```python
    import torch
    import torch.distributed as dist
    from torch import nn

    def train(model: nn.Module, loader, optimizer, device):
        total = torch.zeros((), device=device)
        for x, y in loader:
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach()
        dist.all_reduce(total)
        return total
    ```

    ## When it is fine
    On a cadence, once an epoch, and where the step needs the number:
    ```python
    import torch.distributed as dist
    from torch import nn

    def train(model: nn.Module, loader, optimizer, device):
        for step, (x, y) in enumerate(loader):
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            tokens = (y >= 0).sum()
            dist.all_reduce(tokens)
            loss = nn.functional.cross_entropy(model(x), y, reduction="sum") / tokens
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 100 == 0:
                shown = loss.detach()
                dist.all_reduce(shown)
                print(shown)
    ```

    ## Fix safety
    There is no automatic fix: what is added up, and when it is shown, is for the author to say.

    ## Confirmed by
    Collectives that were called at the line, in at least half of the recorded steps, with the time the host stood in
    them. On a GPU they are put into a queue, and the wait shows elsewhere. A group of one process refutes.

    ## References
    - PyTorch documentation of `torch.distributed`, "Synchronous and asynchronous collective operations".
    - huggingface/trl #6943; allenai/OLMo #279.
    """

    code, name, since = "TPL756", "per-step-metric-collectives", "0.1.0"
    triggers = (
        *("all_reduce(", "all_gather", ".gather", ".reduce(", "broadcast("),
        *("reduce_", ".compute()", "barrier(", "sync(", "synchronize(", "wait(", "wait_for_"),
    )
    probes = ("collectives",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each collective that the step does not need."""
        del project
        if file.mentions((".compute()",)):
            yield from map(partial(self._computed, file), computed_each_batch(file))
        for found in needless_collectives(file):
            site = found.site
            assert site.hot is not None
            statement = file.enclosing(site.function).statement(site.call)
            if explained(file, statement or site.call) and not found.about:
                continue
            does = f"exchanges `{found.about}` only to show it" if found.about else "makes all processes wait"
            yield self.found(
                site,
                message=f"`{file.brief(site.call)}` {does}, {site.hot.when}",
                instead=_instead(found),
                hot=site.hot,
                related=_inside(file, found),
            )

    def _computed(self, file: SourceFile, site: Site) -> Finding:
        assert site.hot is not None
        metric = site.record.callee.rpartition(".")[0]
        return self.found(
            site,
            message=f"`{file.brief(site.call)}` exchanges what `{metric}` has counted between all processes, "
            f"{site.hot.when}",
            instead=f'log the metric itself, `self.log("...", {metric}, on_epoch=True)`: it is computed once, at the '
            "end of the epoch",
            hot=site.hot,
            severity=Severity.INFO,
            root_cause=f"{self.code} metrics of function {site.function}",
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By the collectives that were called at the line, or in the helper that it calls."""
        return by_collectives(finding, run, inside=[related.location for related in finding.related])


_LATER = "add up `.detach()` tensors on each device, and exchange the sum once where it is shown"
_OWN_CHECK = "; whether it is finite, each process can ask of its own loss: where one ends, the launcher ends all"
_FOR_FILES = (
    "put it into the branch whose files it waits for: in all other turns the exchange of gradients keeps the processes "
    "together"
)


def _instead(found: Collective) -> str:
    if found.about:
        return _LATER + (_OWN_CHECK if found.checked else "")
    return _FOR_FILES if found.behind_files else "leave it out: the exchange of gradients keeps the processes together"


def _inside(file: SourceFile, found: Collective) -> list[Related]:
    """Where the helper exchanges what it is given, or waits."""
    call, does = found.inside, "it is exchanged here" if found.about else "they wait here"
    return [file.related(found.helper, call.line, call.column, does)] if call is not None else []
