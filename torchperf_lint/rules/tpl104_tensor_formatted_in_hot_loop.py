"""TPL104."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import by_events
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.formatted_tensors import formatted_tensors
from torchperf_lint.facts.reads.reads import cause
from torchperf_lint.facts.syntax.conditions import short, words
from torchperf_lint.model import Confidence, Finding, Severity, Verdict
from torchperf_lint.rule import SourceRule


class TensorFormattedInHotLoop(SourceRule):
    """`print(loss)`, `f"{loss:.4f}"`, `logger.info("%s", loss)` with a device tensor in code that runs every step.

    ## What it does
    Flags device tensors that are made into text (f-strings, `print`, logging calls, `str(t)`, `"%s" % t`,
    `"{}".format(t)`) where the line runs every training step, forward pass or evaluation batch (the last is reported
    as info). Texts of errors and warnings are left alone.

    ## Why it is slow
    To write a number the host needs it: formatting copies the tensor and waits until everything queued on the device
    before it has run. Printing a whole tensor launches further kernels, to find out how wide its columns are.

    ## Example
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion: nn.Module, device):
        for step, (x, y) in enumerate(loader):
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(f"step {step}: loss {loss:.4f}")
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion: nn.Module, device):
        for step, (x, y) in enumerate(loader):
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 50 == 0:
                print(f"step {step}: loss {loss:.4f}")
    ```

    ## When it is fine
    For shapes, devices and what is on the host anyway, and where something went wrong:
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion: nn.Module, device):
        for step, (x, y) in enumerate(loader):
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            if loss.ndim:
                raise ValueError(f"{loss} is no number")
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(f"step {step} on {loss.device}: {tuple(x.shape)}")
    ```

    ## Fix safety
    There is no automatic fix yet: a cadence changes what is written.

    ## Confirmed by
    A synchronisation at the line in at least half of the recorded steps or evaluation batches; or several in a row, in
    a loop of its own.

    ## References
    - PyTorch performance tuning guide, "Avoid unnecessary CPU-GPU synchronization": `print(cuda_tensor)` comes first.
    """

    code, name, since = "TPL104", "tensor-formatted-in-hot-loop", "0.1.0"
    triggers = ('f"', "f'", "print(", "print (", ".info(", ".log(", "str(", "repr(", "format(", "%")
    probes = ("host-sync",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot place that makes text of a device tensor."""
        del project
        for place, part, value in formatted_tensors(file):
            hot = place.hot
            assert hot is not None
            yield self.found(
                place,
                message=f"writing `{short(words(part))}` into text makes the host wait for the device {hot.when}",
                instead="write it under `if step % n == 0:`, or add it up on the device and write once after the loop",
                value=value,
                hot=hot,
                severity=Severity.INFO if hot.optional or hot.kind == "eval" else None,
                confidence=Confidence.POSSIBLE if hot.optional else None,
                root_cause=cause(place),
                leads=False,
            )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By synchronisations at the line."""
        return by_events(finding, run, run.at(finding, "sync"), "synchronisation", probes=self.probes)
