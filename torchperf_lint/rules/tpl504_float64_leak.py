"""TPL504."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.copies.double_arrays import DOUBLES_MEANT, TAKERS, double_on_device
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.processes.process_flags import explained
from torchperf_lint.model import Finding, Verdict
from torchperf_lint.rule import SourceRule


class Float64Leak(SourceRule):
    """An array that numpy made in float64 goes to the device as it is, in every step.

    ## What it does
    Flags `torch.from_numpy`, `torch.as_tensor` and `torch.tensor` of what `np.random.rand`, `np.zeros`, `np.linspace`
    and their like make without a `dtype`, where the line is hot, the tensor goes to the device, and nothing in the
    function casts it. Files that speak of `float64` or `double` mean it, and are left alone.

    ## Why it is slow
    Twice the bytes cross the bus, and everything that is computed with the tensor is computed in float64, with float32
    operands converted first. Most GPUs compute float64 at a small fraction of their float32 rate.

    ## Example
    ```python
    import numpy as np
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, device: torch.device):
        for x, y in loader:
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            noise = torch.from_numpy(np.random.randn(64, 1)).to(device)
            loss = (model(x) * noise - y).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, device: torch.device):
        for x, y in loader:
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            noise = torch.randn(64, 1, device=device)
            loss = (model(x) * noise - y).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```
    Where numpy has to make it: `.astype(np.float32)` before it is copied.

    ## When it is fine
    Cast on the way, made of integers, and where double precision is meant:
    ```python
    import numpy as np
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, device: torch.device):
        for x, y in loader:
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            weight = torch.as_tensor(np.random.rand(64, 1), dtype=torch.float32, device=device)
            loss = (weight * (model(x) - y)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## Fix safety
    There is no automatic fix: whether to make the array on the device or to cast it is the author's choice, and the
    numbers change with the type.

    ## Confirmed by
    Nothing: no probe looks at types. That the line did not run is reported.

    ## References
    - PyTorch documentation of `torch.from_numpy`, and of type promotion in "Tensor Attributes".
    - NVIDIA CUDA C++ Programming Guide, throughput of native arithmetic instructions.
    """

    code, name, since = "TPL504", "float64-leak", "0.1.0"
    triggers = ("from_numpy(", "as_tensor(", "asarray(", "torch.tensor(")
    about_waits = True

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each array of float64 that hot code uploads."""
        del project
        if file.mentions(DOUBLES_MEANT) or not file.mentions(("numpy",)):
            return
        for site in file.calls_of(*TAKERS):
            if site.hot is None or site.hot.kind in ("data", "eval") or site.hot.optional:
                continue
            found = double_on_device(file, site)
            if found is None or explained(file, site.call):
                continue
            yield self.found(
                site,
                message=f"`{file.brief(found.written)}` is float64 on the device {site.hot.when}, as "
                f"`{found.because}` makes it, and all that is computed with it becomes float64",
                instead="make it on the device with torch (`torch.rand(..., device=device)`), or cast it on the host: "
                "`.astype(np.float32)`",
                hot=site.hot,
            )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """No probe looks at types."""
        return unmeasured(run, finding.location, "no probe looks at the types of tensors")
