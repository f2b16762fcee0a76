"""TPL119."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import by_events
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.fixes.fractions import has_no_dimensions
from torchperf_lint.facts.fixes.stacking import read_together
from torchperf_lint.facts.reads.clusters import Cluster, clusters, numbers_read
from torchperf_lint.facts.reads.kept_as import USED, kept_as
from torchperf_lint.facts.reads.read_before_loops import unchanged_around
from torchperf_lint.facts.reads.reads import COPY, ITEM, NUMBER, Reading, cause
from torchperf_lint.facts.syntax.conditions import short, words
from torchperf_lint.model import Confidence, Finding, Location, Related, Verdict
from torchperf_lint.nearest import nearest
from torchperf_lint.rule import SourceRule

_ALONE = {ITEM: "TPL101", NUMBER: "TPL103", COPY: "TPL105"}
"""Which rule a read belongs to by itself: who has silenced that there does not mean it here."""
_SHOWN = 3


class SeveralReadsInOneStep(SourceRule):
    """Two or more numbers read from the device one after another in code that runs every step.

    ## What it does
    Flags `.item()`, `float(t)` and their like that follow each other in one block of statements, with no backward
    pass and no optimizer step between, where the block runs every training step, forward pass or evaluation batch
    (the last is reported as info). The finding stands at the first read and names the others; they are not reported
    by themselves.

    ## Why it is slow
    Each read copies one number and waits until everything queued on the device before it has run. One copy of all the
    numbers waits once.

    A number may be in a tensor of shape `[1]`, as `x.sum(0, keepdim=True)` makes it. `torch.stack` takes tensors of
    one shape: make it `[]` with `t.reshape(())`.

    ## Example
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion: nn.Module, device):
        losses, hits = 0.0, 0
        for x, y in loader:
            y = y.to(device, non_blocking=True)
            logits = model(x.to(device, non_blocking=True))
            loss = criterion(logits, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses += loss.item()
            hits += (logits.argmax(1) == y).sum().item()
        return losses, hits
    ```

    ## Use instead
    Where the numbers are needed every step, read them in one copy:
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion: nn.Module, device, show):
        for step, (x, y) in enumerate(loader):
            y = y.to(device, non_blocking=True)
            logits = model(x.to(device, non_blocking=True))
            loss = criterion(logits, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 50 == 0:
                loss_now, hits = torch.stack([loss, (logits.argmax(1) == y).sum()]).tolist()
                show(loss_now, hits)
    ```

    ## When it is fine
    Under a cadence, and after the loop:
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion: nn.Module, device):
        for step, (x, y) in enumerate(loader):
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            if step % 100 == 0:
                print(loss.item(), norm.item())
        return loss.item(), norm.item()
    ```
    Reads that another rule explains better stand by themselves: those for a progress bar or tracker, checks for NaN,
    reads for each parameter.

    ## Fix safety
    Unsafe: reads in one statement, or in statements that follow each other, are made one before them. That is done
    where all are known to be floating-point numbers without dimensions (losses, means, norms), for `torch.stack` gives
    all one shape and dtype; tensors on several devices would not stack. The same number read twice is read once. There
    is none where a number is only added up: TPL101 keeps the sum on the device.

    ## Confirmed by
    Synchronisations at the reads in at least half of the recorded steps or evaluation batches.

    ## References
    - NVIDIA, "Writing sync-free code": coalesce what has to be read.
    """

    code, name, since = "TPL119", "several-reads-in-one-step", "0.1.0"
    triggers = (".item(", "float(", "int(", "bool(", "math.")
    probes = ("host-sync",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each cluster of hot reads."""
        del project
        for cluster in clusters(file, [r for r in numbers_read(file) if not _silenced(file, r)]):
            yield self._of(file, cluster)

    def _of(self, file: SourceFile, cluster: Cluster) -> Finding:
        first, *others = cluster
        reads = [reading.read for reading in cluster]
        operands = list(dict.fromkeys(words(reading.operand) for reading in cluster))
        what = "reads of one number" if len(operands) == 1 else "reads one after another"
        return self.found(
            first.site,
            message=f"{_written(file, cluster)}: {len(cluster)} {what}, and the host waits for the device each time, "
            f"{first.read.hot.when}",
            instead=_before_loops(file, cluster, operands)
            or _instead(cluster, operands) + _when(file, cluster, operands),
            value=first.read.value,
            hot=first.read.hot,
            severity=min((read.severity for read in reads), key=lambda severity: severity.rank),
            confidence=max((_confidence(reading) for reading in cluster), key=lambda confidence: confidence.rank),
            related=[_related(file, reading) for reading in others],
            root_cause=f"cluster of {cause(first.site)}, column {first.site.start[1]}",
            fix=read_together(cluster),
            covers=sorted({cause(reading.site) for reading in cluster}),
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By synchronisations at the first read and at the others."""
        places: list[Location] = [finding.location, *(related.location for related in finding.related)]
        events = {id(event): event for place in places for event in nearest(run.at(place, "sync"), place)}
        return by_events(finding, run, events.values(), "synchronisation", probes=self.probes)


def _silenced(file: SourceFile, reading: Reading) -> bool:
    at = reading.site.location
    return file.suppressions.matching(at.line, at.end_line, _ALONE[reading.form]) is not None


def _confidence(reading: Reading) -> Confidence:
    grounds = (reading.read.value.confidence, reading.read.hot.confidence)
    return max(grounds, key=lambda confidence: confidence.rank)


def _written(file: SourceFile, cluster: Cluster) -> str:
    shown = list(dict.fromkeys(file.brief(reading.site.call) for reading in cluster))
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return ", ".join(f"`{text}`" for text in shown[:_SHOWN]) + more


def _related(file: SourceFile, reading: Reading) -> Related:
    return Related(reading.site.location, f"`{file.brief(reading.site.call)}` is read here")


def _before_loops(file: SourceFile, cluster: Cluster, operands: list[str]) -> str | None:
    """Of one number that the loops around do not change."""
    found = unchanged_around(file, cluster[0]) if len(operands) == 1 else None
    if found is None:
        return None
    what = f"what the turns need of `{found.whole.id}`" if found.parts else f"`{short(operands[0])}`"
    return f"read {what} once, before the loop on line {found.line}, which does not change it"


def _instead(cluster: Cluster, operands: list[str]) -> str:
    if len(operands) == 1:
        return f"read it once and keep the number: `value = {short(operands[0])}.item()`"
    names = ", ".join("abcdefghijklmnopqrstuvwxyz"[: len(operands)])
    written = ", ".join(map(short, operands))
    alike = all(has_no_dimensions(reading.site, reading.operand, reading.site.start) for reading in cluster)
    # `.item()` takes a tensor of shape [1] as well, which does not stack with one without dimensions.
    stacked = f"[{written}]" if alike else f"[t.reshape(()) for t in ({written})]"
    read = f"compute first, then read in one copy: `{names} = torch.stack({stacked}).tolist()`"
    read += ", and give `math` the numbers" if any(map(_calls_math, cluster)) else ""
    # Sums of a mask of floats are floats, of which torch takes none for a size or a count.
    return f"{read}, with `int` around those that have it now" if any(map(_makes_integer, cluster)) else read


def _makes_integer(reading: Reading) -> bool:
    """`int(mask.sum())`; of `int((x > 0).sum())` the number is one anyway."""
    operand = reading.operand
    base = operand.func.value if isinstance(operand, ast.Call) and isinstance(operand.func, ast.Attribute) else operand
    return reading.site.record.callee == "int" and not isinstance(base, ast.Compare)


def _calls_math(reading: Reading) -> bool:
    """`math.log(loss, 2)`, which reads a number and computes with it."""
    site = reading.site
    return (site.file.denotes(site.call.func, site) or "").startswith("math.")


def _when(file: SourceFile, cluster: Cluster, operands: list[str]) -> str:
    """When that is early enough, where none of the numbers is needed at once."""
    if len(operands) == 1 or any(kept_as(reading.site) == USED for reading in cluster):
        return ""
    hot = cluster[0].read.hot
    statements = [file.enclosing(reading.site.function).statement(reading.site.call) for reading in cluster]
    summed = all(isinstance(statement, ast.AugAssign) for statement in statements)
    if summed or hot.kind == "eval" or hot.evaluates:  # every batch counts for a mean
        return ", best once after the loop, of sums or lists that stay on the device"
    return ", best under `if step % n == 0:`"
