"""TPL101."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import by_events
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.fixes.accumulating import on_the_device
from torchperf_lint.facts.fixes.read_later import later
from torchperf_lint.facts.reads.chosen_numbers import only_computes
from torchperf_lint.facts.reads.consequences import INSTEAD, RAISES, consequence
from torchperf_lint.facts.reads.kept_for_complaints import is_kept_for_complaint
from torchperf_lint.facts.reads.left_meters import as_users_pay
from torchperf_lint.facts.reads.old_reads import old_reads
from torchperf_lint.facts.reads.only_logged import logged_at
from torchperf_lint.facts.reads.read_for_callers import reading_callers
from torchperf_lint.facts.reads.reads import cause, item_readings, items_in_loops, one_copy
from torchperf_lint.model import Finding, Related, Verdict
from torchperf_lint.rule import SourceRule


class ItemInHotLoop(SourceRule):
    """`.item()` on a device tensor in code that runs every step.

    ## What it does
    Flags `.item()` on a tensor that lives on the device, where the line runs every training step, forward pass or
    evaluation batch (the last is reported as info). Loops that read a tensor element by element, or the same number
    each turn, are information wherever they stand (one `.tolist()` before the loop does it), and only `possible` where
    an annotation alone says that the value is a tensor and nothing shows how often they run.
    `loss.data[0]`, which is how a number was read before torch 0.4, counts as `loss.item()` where a name is that of a
    loss.
    Of a function that reads what it is given, each call that hands a tensor over stands beside the finding; of a number
    that goes into the log of every step and nowhere else, the call that logs it.

    ## Why it is slow
    `.item()` copies one number to the host and waits until everything queued on the device before it has run. The
    host then queues the next step from an empty queue, and the device idles meanwhile. What that costs depends on
    the step: where the device is the bottleneck anyway, little.

    ## Example
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion: nn.Module, device):
        total = 0.0
        for x, y in loader:
            x = x.to(device, non_blocking=True)
            y = y.to(device, non_blocking=True)
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        return total
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion: nn.Module, device):
        total = torch.zeros((), device=device)
        for x, y in loader:
            x = x.to(device, non_blocking=True)
            y = y.to(device, non_blocking=True)
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach()
        return total.item()
    ```

    ## When it is fine
    Once every n steps, after the loop, or where the value is on the host anyway:
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion: nn.Module, device):
        for step, (x, y) in enumerate(loader):
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 100 == 0:
                print(loss.item())
        print(loss.item())
    ```
    A reinforcement-learning agent that stops an update on the KL divergence needs the number. Such reads, which decide
    what runs next, are only `possible`: shown with `--confidence possible`. A counter that a buffer keeps and only
    the host writes is shown in any case.

    ## Fix safety
    Unsafe: `total += loss.item()` becomes `total += loss.detach()`, and the number is read once behind the loop, with
    `total = float(total)`; the sum is then rounded as the tensor's dtype is. Only where `total` begins with zero before
    the loop, nothing else in the loop names it, and the loop does not read the same number in each turn anyway. Other
    reads have no automatic fix.

    ## Confirmed by
    A synchronisation at the line in at least half of the recorded steps or evaluation batches; or several in a row, in
    a loop of its own.

    ## References
    - PyTorch performance tuning guide, "Avoid unnecessary CPU-GPU synchronization".
    - NVIDIA, "Writing sync-free code", list of synchronising calls.
    """

    code, name, since = "TPL101", "item-in-hot-loop", "0.1.0"
    triggers = (".item(", ".data[0]")
    probes = ("host-sync",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot `.item()` on a device tensor."""
        del project
        readings = (as_users_pay(file, reading) for reading in item_readings(file))
        for site, receiver, read in (*readings, *items_in_loops(file)):
            written = file.brief(receiver)
            if not isinstance(receiver, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
                written = f"({written})"
            yield self.found(
                site,
                message=f"`{written}.item()` makes the host wait for the device {read.hot.when}",
                instead=one_copy(file, read) or _of_what_follows(site) or later(site, written),
                value=read.value,
                hot=read.hot,
                severity=read.severity,
                root_cause=cause(site),
                leads=False,
                related=[*_handed_over(file, site, receiver), *_only_logged(file, site)],
                fix=on_the_device(site, receiver),
            )
        for spot, receiver, read in old_reads(file):
            written = file.brief(receiver)
            yield self.found(
                spot,
                message=f"`{written}.data[0]`, today `.item()`, makes the host wait for the device {read.hot.when}",
                instead=later(spot, written),
                value=read.value,
                hot=read.hot,
                severity=read.severity,
                root_cause=cause(spot),
                leads=False,
            )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By synchronisations at the line."""
        return by_events(finding, run, run.at(finding, "sync"), "synchronisation", probes=self.probes)


def _handed_over(file: SourceFile, site: Site, receiver: ast.expr) -> list[Related]:
    """Of a function that reads what it is given: each call that hands a tensor over."""
    callers = reading_callers(file, site, receiver)
    return [file.related(c.frame.path, *c.frame.at, "hands over a tensor that is read there") for c in callers]


def _only_logged(file: SourceFile, site: Site) -> list[Related]:
    """The calls that log the number at every step, where nothing else needs it."""
    return [Related(call.site.location, "it is read only to be logged, here") for call in logged_at(file, site)[:3]]


def _of_what_follows(site: Site) -> str | None:
    """What to write instead where adding up and reading later is of no help."""
    then = consequence(site)
    if then not in INSTEAD and is_kept_for_complaint(site):
        return INSTEAD[RAISES]
    if then not in INSTEAD and only_computes(site):
        return (
            "leave `.item()` out: a tensor without dimensions is a factor or a term as a number is, and nothing waits "
            "(`max(n, 1)` is `n.clamp(min=1)` then)"
        )
    return INSTEAD.get(then)
