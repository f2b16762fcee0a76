"""TPL103."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import by_events
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.copies.round_trips import comes_back_as_index
from torchperf_lint.facts.copies.uploaded import below_reductions, uploaded_on
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.fixes.accumulating import on_the_device
from torchperf_lint.facts.fixes.read_later import later
from torchperf_lint.facts.reads.consequences import INSTEAD, RAISES, consequence
from torchperf_lint.facts.reads.copied_for_nothing import UNREAD, is_never_read
from torchperf_lint.facts.reads.reads import (
    Read,
    cause,
    conversion_readings,
    conversions_in_loops,
    is_the_result,
    one_copy,
)
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.model import Confidence, Finding, Verdict
from torchperf_lint.rule import SourceRule


class ScalarConversionInHotLoop(SourceRule):
    """`float(t)`, `int(t)`, `t.tolist()` and `math.f(t)` on a device tensor in code that runs every step.

    ## What it does
    Flags conversions of a device tensor to Python numbers where the line runs every training step, forward pass or
    evaluation batch (the last is reported as info). Loops that convert a tensor element by element, or the same one
    each turn, are information wherever they stand (one `.tolist()` before the loop does it), and only `possible` where
    an annotation alone says that the value is a tensor and nothing shows how often they run.

    ## Why it is slow
    Each of them calls `.item()` inside (or copies the whole tensor): the host waits until everything queued on the
    device before it has run, and queues the next work from an empty queue.

    ## Example
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion: nn.Module, device):
        correct = 0
        for x, y in loader:
            x = x.to(device, non_blocking=True)
            y = y.to(device, non_blocking=True)
            out = model(x)
            loss = criterion(out, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            correct += int((out.argmax(1) == y).sum())
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion: nn.Module, device):
        correct = torch.zeros((), device=device, dtype=torch.long)
        for x, y in loader:
            x = x.to(device, non_blocking=True)
            y = y.to(device, non_blocking=True)
            out = model(x)
            loss = criterion(out, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            correct += (out.argmax(1) == y).sum()
        return int(correct)
    ```

    ## When it is fine
    On shapes and configuration, which are on the host, once every n steps, and as one `.tolist()` of the results of
    each batch that is evaluated:
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion: nn.Module, device, scale: str):
        for step, (x, y) in enumerate(loader):
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            (loss * float(scale) / int(x.shape[0])).backward()
            optimizer.step()
            if step % 50 == 0:
                print(float(loss))
    ```

    ## Fix safety
    Unsafe: `running += float(loss)` becomes `running += loss.detach()`, and the number is read once behind the loop,
    with `running = float(running)`; the sum is then rounded as the tensor's dtype is. `int(...)` only of a sum of
    truths, which is a whole number. Only where the name begins with zero before the loop, nothing else in the loop
    names it, and the loop does not read the same number in each turn anyway. Other conversions have no automatic fix.

    ## Confirmed by
    A synchronisation at the line in at least half of the recorded steps or evaluation batches; or several in a row, in
    a loop of its own.

    ## References
    - NVIDIA, "Writing sync-free code", list of synchronising calls.
    - PyTorch performance tuning guide, "Avoid unnecessary CPU-GPU synchronization".
    """

    code, name, since = "TPL103", "scalar-conversion-in-hot-loop", "0.1.0"
    triggers = ("float(", "int(", "bool(", "complex(", "long(", ".tolist(", "math.")
    probes = ("host-sync",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot conversion of a device tensor."""
        del project
        for site, converted, read in (*conversion_readings(file), *conversions_in_loops(file)):
            if site.record.callee.endswith(".tolist") and is_the_result(file, site, read):
                continue
            back = site.record.callee.endswith(".tolist") and comes_back_as_index(file, site)
            yield self.found(
                site,
                message=f"`{file.brief(site.call)}` makes the host wait for the device {read.hot.when}",
                instead=(UNREAD if is_never_read(file, site) else None)
                or one_copy(file, read)
                or (f"index with `{file.brief(converted)}` itself: it need not leave the device" if back else None)
                or _from_the_host(file, site)
                or INSTEAD.get(consequence(site))
                or later(site, _on_device(file, site, converted)),
                value=read.value,
                hot=read.hot,
                severity=read.severity,
                confidence=Confidence.POSSIBLE if not back and _lists_for_the_host(site, read) else None,
                root_cause=cause(site),
                leads=False,
                fix=on_the_device(site, converted),
            )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By synchronisations at the line."""
        return by_events(finding, run, run.at(finding, "sync"), "synchronisation", probes=self.probes)


def _from_the_host(file: SourceFile, site: Site) -> str | None:
    """Of a list of what the function has uploaded, or of its sums: the host had it."""
    listed = site.receiver if site.record.callee.endswith(".tolist") else None
    line = uploaded_on(file, site, below_reductions(listed)) if listed is not None else None
    return f"line {line} has uploaded it from the host: take this from what was there before" if line else None


def _on_device(file: SourceFile, site: Site, converted: ast.expr) -> str | None:
    """What a conversion gives, as a tensor: `torch.log10(mse)` of `math.log10(mse)`; None where no one function of
    torch gives it."""
    dotted = file.denotes(site.call.func, site) or ""
    name = dotted.removeprefix("math.")
    if name == dotted:
        return _tight(file, converted)
    given = site.call.args
    alone = len(given) == 1 and name in api.OF_MATH
    paired = len(given) == 2 and name in api.OF_MATH_WITH_TWO and (converted is given[0] or name in api.NUMBER_FIRST)
    if not alone and not paired:
        return None
    written = [file.brief(argument) for argument in given]
    whole = written == [file.source(argument) for argument in given]
    return f"torch.{name}({', '.join(written) if whole else '...'})"


def _tight(file: SourceFile, node: ast.expr) -> str:
    """An expression as something whose method may be called: `(a - b)`, `x[0]`."""
    plain = isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    return file.brief(node) if plain else f"({file.brief(node)})"


def _lists_for_the_host(site: Site, read: Read) -> bool:
    """One bulk list in a forward pass is there for control flow on the host: lengths, layouts, bounds."""
    listed = read.hot.kind in ("forward", "rollout") and site.record.callee.endswith(".tolist")
    return read.repeated is None and listed and consequence(site) != RAISES
