"""TPL107."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import by_events
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.element_loops.parameters import per_parameter
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.consequences import DECIDES, REPLACES, SELECTS, consequence
from torchperf_lint.facts.reads.finite import Check, checks
from torchperf_lint.facts.reads.reads import cause
from torchperf_lint.facts.reads.skipped_steps import skips_a_step
from torchperf_lint.model import Confidence, Finding, Severity, Verdict
from torchperf_lint.rule import SourceRule


class NanCheckEveryStep(SourceRule):
    """`if torch.isnan(loss):`, `math.isfinite(loss.item())` and their like in code that runs every step.

    ## What it does
    Flags checks for NaN and infinity that are decided on the host, where the line runs every training step, forward
    pass or evaluation batch (the last is reported as info, and so is a check that only replaces the values).

    ## Why it is slow
    The check itself is cheap and runs on the device; its answer is read on the host, which waits until everything
    queued on the device before it has run, every step, for something that should never happen.

    ## Example
    ```python
    import math
    import sys

    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion: nn.Module, device):
        for x, y in loader:
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            if not math.isfinite(loss.item()):
                sys.exit(1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## Use instead
    Note it on the device and look at the note now and then, and before each checkpoint:
    ```python
    import sys

    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion: nn.Module, device):
        bad = torch.zeros((), dtype=torch.bool, device=device)
        for step, (x, y) in enumerate(loader):
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            bad |= ~torch.isfinite(loss.detach())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 100 == 0 and bad:
                sys.exit(1)
    ```

    ## When it is fine
    On a number that is on the host already, and under a cadence or a debug switch:
    ```python
    import math

    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion: nn.Module, device, debug: bool):
        for step, (x, y) in enumerate(loader):
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            if debug and torch.isnan(loss):
                raise FloatingPointError("NaN")
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 100 == 0:
                value = loss.item()
                if math.isnan(value):
                    raise FloatingPointError("NaN")
    ```
    A check that decides what runs next is only `possible`: shown with `--confidence possible`. One that leaves out a
    training step because of its loss is shown, as info.

    ## Fix safety
    There is no automatic fix: checking later lets a few bad steps pass first.

    ## Confirmed by
    A synchronisation at the check in at least half of the recorded steps or evaluation batches; or several in a row,
    in a loop of its own.

    ## References
    - PyTorch performance tuning guide, "Avoid unnecessary CPU-GPU synchronization".
    - transformers issue 33693: the Trainer's own check for NaN was 7 % of the wall time of a profile.
    """

    code, name, since = "TPL107", "nan-check-every-step", "0.1.0"
    triggers = ("isnan", "isinf", "isfinite", "isposinf", "isneginf")
    probes = ("host-sync",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot check of a device tensor."""
        del project
        for check in checks(file):
            yield from self._judged(file, check)

    def _judged(self, file: SourceFile, check: Check) -> Iterator[Finding]:
        place, hot = check.place, check.place.hot
        value = on_device(file, place, check.operand)
        if value is None or hot is None or hot.kind == "data":
            return
        then = consequence(place)
        then = REPLACES if then == SELECTS else then
        disputable = hot.optional or (then == DECIDES and not skips_a_step(place, check.operand))
        mild = disputable or then in (DECIDES, REPLACES) or hot.kind == "eval"
        yield self.found(
            place,
            message=f"`{file.brief(check.written)}` looks for NaN or infinity on the host, which waits for the device "
            f"{hot.when}",
            instead={REPLACES: _REPLACE, DECIDES: _SKIP}.get(then, _NOTE),
            value=value,
            hot=hot,
            severity=Severity.INFO if mild else None,
            confidence=Confidence.POSSIBLE if disputable else None,
            root_cause=cause(place),
            leads=per_parameter(file, place) is None,
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By synchronisations at the check."""
        return by_events(finding, run, run.at(finding, "sync"), "synchronisation", probes=self.probes)


_NOTE = (
    "note it on the device (`bad |= ~torch.isfinite(x).all()`) and look at `bad` under `if step % n == 0:` and before "
    "a checkpoint"
)
_SKIP = (
    "ask one step later: copy the answer to pinned memory with `non_blocking=True`, and look at it in the next turn; "
    "or skip on the device, as a `GradScaler` and an optimizer with `fused=True` do together"
)
_REPLACE = (
    "replace without asking: `torch.nan_to_num(x)`, `x.clamp(low, high)` or `torch.where(torch.isfinite(x), x, y)`, "
    "with `.all()` for the whole of it; a gradient that goes back to what made the NaN is NaN either way"
)
