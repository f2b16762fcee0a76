"""TPL851."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.processes.lightning_devices import named_devices, several_devices
from torchperf_lint.model import Confidence, Finding, Verdict
from torchperf_lint.rule import SourceRule


class LightningManualDevice(SourceRule):
    """A LightningModule that puts tensors on a device by its number, though each process has a device of its own.

    ## What it does
    Flags `.to("cuda:0")`, `.cuda(0)` and `device="cuda:0"` in the steps and hooks of a LightningModule, where a
    `Trainer` of the project uses several devices (`devices=4`, `strategy="ddp"`). Where none says how many it is only
    `possible`, and with one device it is fine. `.cuda()` and `.to("cuda")` without a number go to the process's own
    device, which Lightning has made the current one: on a batch they do nothing, and what is made on the host is
    for TPL251 and TPL252.

    ## Why it is slow
    Lightning has moved the batch to the device of the process. All processes then copy it to one device, from device
    to device, which fails at the next operation with the module's parameters, or leaves one device with the work and
    the memory of all.

    ## Example
    ```python
    import lightning as L
    import torch
    from torch import nn

    class Classifier(L.LightningModule):
        def __init__(self, net: nn.Module):
            super().__init__()
            self.net = net

        def training_step(self, batch, batch_idx):
            x, y = batch
            noise = torch.randn(x.shape, device="cuda:0")
            return nn.functional.cross_entropy(self.net(x + noise), y)

    def main(net, data):
        L.Trainer(devices=4).fit(Classifier(net), data)
    ```

    ## Use instead
    ```python
    import lightning as L
    import torch
    from torch import nn

    class Classifier(L.LightningModule):
        def __init__(self, net: nn.Module):
            super().__init__()
            self.net = net

        def training_step(self, batch, batch_idx):
            x, y = batch
            noise = torch.randn(x.shape, device=self.device)
            return nn.functional.cross_entropy(self.net(x + noise), y)

    def main(net, data):
        L.Trainer(devices=4).fit(Classifier(net), data)
    ```

    ## When it is fine
    With one device:
    ```python
    import lightning as L
    from torch import nn

    class Classifier(L.LightningModule):
        def __init__(self, net: nn.Module):
            super().__init__()
            self.net = net

        def training_step(self, batch, batch_idx):
            return self.net(batch.to("cuda:0")).mean()

    def main(net, data):
        L.Trainer(devices=1).fit(Classifier(net), data)
    ```

    ## Fix safety
    There is no automatic fix: whether a tensor has to be moved at all depends on where it comes from.

    ## Confirmed by
    Nothing: one process cannot tell what the others do. That the line did not run is reported.

    ## References
    - Lightning documentation, "Hardware agnostic training": delete any calls to `.cuda()` or `.to(device)`, and use
      `self.device` or `type_as`.
    - Its `CUDAAccelerator.setup_device`, which makes the process's device the current one.
    """

    code, name, since = "TPL851", "lightning-manual-device", "0.1.0"
    triggers = (".cuda(", "cuda:", "torch.device(")
    about_waits = True

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each device of the steps that is named by its number."""
        if not file.mentions(("LightningModule", "lightning")):
            return
        several: bool | None = None
        for count, (site, device) in enumerate(named_devices(file)):
            several = several_devices(project) if count == 0 else several
            if several is False:
                return
            assert site.hot is not None
            yield self.found(
                site,
                message=f"`{file.brief(site.call)}` names `{device}` {site.hot.when}, in every process, while each of "
                "them has a device of its own",
                instead="leave a move of the batch out, which Lightning has moved; make other tensors with "
                "`device=self.device`",
                hot=site.hot,
                confidence=Confidence.LIKELY if several and not site.hot.optional else Confidence.POSSIBLE,
            )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """One process cannot tell what the others do."""
        return unmeasured(run, finding.location, "no probe compares the devices of processes")
