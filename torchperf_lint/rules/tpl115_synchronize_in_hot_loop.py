"""TPL115."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import by_events
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.fixes.left_out import left_out
from torchperf_lint.facts.reads.synchronising import (
    TimedAsAWhole,
    is_needed,
    may_be_needed,
    synchronisations,
    timed_as_a_whole,
    times_each_step,
)
from torchperf_lint.model import Confidence, Finding, Severity, Verdict
from torchperf_lint.rule import SourceRule

_TIMED = (
    "leave it out of the step: over many steps the clock shows the same mean without it; for single steps record "
    "`torch.cuda.Event(enable_timing=True)` and read them every n steps"
)
_TIMED_AS_A_WHOLE = "a clock is read behind the loop: wait once, there, before the clock is read"
_WAITED = "leave it out: line {line} waits before the clock behind the loop is read"
_LEFT_OUT = (
    "leave it out: what reads a tensor on the host waits by itself; to measure time use "
    "`torch.cuda.Event(enable_timing=True)` and read it later"
)


class SynchronizeInHotLoop(SourceRule):
    """`torch.cuda.synchronize()` in code that runs every step.

    ## What it does
    Flags `torch.cuda.synchronize()`, `torch.accelerator.synchronize()` and `synchronize()` of streams and events where
    the line runs every training step, forward pass or evaluation batch (the last is reported as info). Code that
    measures time or memory is left alone.

    ## Why it is slow
    The host waits until everything queued on the device has run, so it can never prepare the next step while the
    device works on this one. Results are right without it: what reads a tensor on the host waits by itself.

    ## Example
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion: nn.Module, device):
        for x, y in loader:
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            torch.cuda.synchronize()
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion: nn.Module, device):
        for x, y in loader:
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        torch.cuda.synchronize()
    ```

    A training loop that waits in each step only to show how long the step took is reported as info: it pays for the
    clock in every step.

    ## When it is fine
    Around a clock in what measures, and before the host reads what a non-blocking copy brought:
    ```python
    import time

    import torch
    from torch import nn

    def measure(model: nn.Module, loader, device):
        times = []
        for x in loader:
            begin = time.perf_counter()
            model(x.to(device, non_blocking=True)).sum().backward()
            torch.cuda.synchronize()
            times.append(time.perf_counter() - begin)
        return times

    def fetch(model: nn.Module, loader, device):
        for x in loader:
            out = model(x.to(device, non_blocking=True)).to("cpu", non_blocking=True)
            torch.cuda.synchronize()
            print(out.mean())
    ```
    So may a wait for an event or stream be behind a copy that another method of the object has begun. In code with
    streams of its own, or that hands tensors to other processes, a wait may be needed; there it is only `possible`:
    shown with `--confidence possible`.

    ## Fix safety
    Unsafe: the call is removed, with a test that guards nothing else and an import that nothing else uses. Whether
    something relies on the wait only the author knows; where it looks like that there is none.

    ## Confirmed by
    A synchronisation at the call in at least half of the recorded steps or evaluation batches; or several in a row, in
    a loop of its own.

    ## References
    - PyTorch, CUDA semantics, "Asynchronous execution".
    - torchtitan pull request 134, which removed one from its training loop.
    """

    code, name, since = "TPL115", "synchronize-in-hot-loop", "0.1.0"
    triggers = ("synchronize",)
    probes = ("host-sync",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot wait that nothing around it needs."""
        del project
        for site in synchronisations(file):
            hot = site.hot
            if hot is None or hot.kind == "data":
                continue
            timed = is_needed(file, site)
            if timed and not times_each_step(file, site):
                continue
            disputable = hot.optional or may_be_needed(file, site)
            whole = timed_as_a_whole(file, site)
            yield self.found(
                site,
                message=f"`{file.brief(site.call)}` makes the host wait until the device has done all its work "
                f"{hot.when}",
                instead=_TIMED if timed else _instead(whole),
                hot=hot,
                fix=None if disputable or timed or (whole and not whole.waits) else left_out(site),
                severity=Severity.INFO if disputable or timed or hot.kind == "eval" else None,
                confidence=Confidence.POSSIBLE if disputable else None,
            )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By synchronisations at the call."""
        return by_events(finding, run, run.at(finding, "sync"), "synchronisation", probes=self.probes)


def _instead(whole: TimedAsAWhole | None) -> str:
    """What to do about a wait that no clock in the loop needs."""
    if whole is None:
        return _LEFT_OUT
    return _WAITED.format(line=whole.waits) if whole.waits else _TIMED_AS_A_WHOLE
