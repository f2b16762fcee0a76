"""TPL401."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import by_events
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.fixes.left_out import left_out
from torchperf_lint.model import Finding, Verdict
from torchperf_lint.rule import SourceRule

_ON_CUDA = ("torch.cuda.empty_cache", "torch.accelerator.empty_cache", "torch.accelerator.memory.empty_cache")
_ELSEWHERE = ("torch.xpu.empty_cache", "torch.mps.empty_cache", "torch.npu.empty_cache")


class EmptyCacheInHotLoop(SourceRule):
    """`torch.cuda.empty_cache()` in code that runs every step.

    ## What it does
    Flags calls that hand the caching allocator's free blocks back to the driver, where the line runs every training
    step, evaluation batch or forward pass.

    ## Why it is slow
    Giving blocks back waits for the device (`cudaFree`), and the next step has to ask the driver for them again
    (`cudaMalloc`). It cannot give PyTorch more memory: the blocks were free for PyTorch already. It gives memory to
    other processes only.

    ## Example
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion, device):
        for x, y in loader:
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            torch.cuda.empty_cache()
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion, device):
        for x, y in loader:
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## When it is fine
    Between phases, in a handler for out-of-memory errors, before another process needs the device. Of the calls for
    several devices in one function the one for CUDA is told of.
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion, device):
        for x, y in loader:
            try:
                loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
                loss.backward()
            except torch.cuda.OutOfMemoryError:
                torch.cuda.empty_cache()
                continue
            optimizer.step()
        torch.cuda.empty_cache()
    ```

    ## Fix safety
    Unsafe: the call is removed, with a test that guards nothing else and an import that nothing else uses; not where
    code that is not hot calls the function around, or where that empties the caches of several devices. Without it
    more memory stays reserved, which can matter on a card that is nearly full. For fragmentation set
    `PYTORCH_ALLOC_CONF=expandable_segments:True`.

    ## Confirmed by
    Calls at the line in at least half of the recorded steps.

    ## References
    - PyTorch CUDA semantics, "Memory management".
    - huggingface/peft #2894: timings with and without the call.
    """

    code, name, since = "TPL401", "empty-cache-in-hot-loop", "0.1.0"
    triggers = ("empty_cache",)
    probes = ("allocator",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot call that empties the allocator's cache."""
        del project
        on_cuda, elsewhere = list(file.calls_of(*_ON_CUDA)), list(file.calls_of(*_ELSEWHERE))
        several = {site.function for site in on_cuda} & {site.function for site in elsewhere}
        for site in (*on_cuda, *(site for site in elsewhere if site.function not in several)):
            if site.hot is None or site.hot.kind == "data":
                continue
            yield self.found(
                site,
                message=f"`{file.brief(site.call)}` gives cached blocks back to the driver {site.hot.when}, "
                "and the next step asks for them again",
                instead="remove it (or call it once between phases); against fragmentation set "
                "PYTORCH_ALLOC_CONF=expandable_segments:True",
                hot=site.hot,
                fix=left_out(site) if site.function not in several else None,
            )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By calls at the line; they empty nothing where there is no device, and are seen all the same."""
        calls = run.at(finding, "empty-cache")
        return by_events(finding, run, calls, "call", needs_device=False, probes=self.probes)
