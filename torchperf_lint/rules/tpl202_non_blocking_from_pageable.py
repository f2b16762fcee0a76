"""TPL202."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import by_events, copies
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.loaders.asynchronous import pageable_source, runs_beside
from torchperf_lint.facts.loaders.joined_on_host import JOIN_THERE, JOINS, joined_at_times
from torchperf_lint.facts.values.value import HOST, tensor
from torchperf_lint.model import Confidence, Finding, Severity, Verdict
from torchperf_lint.rule import SourceRule

_PIN = (
    "fill a buffer that is pinned once (`torch.empty(..., pin_memory=True)`) and copy from that, or let a `DataLoader` "
    "with `pin_memory=True` prepare the batch"
)


class NonBlockingFromPageable(SourceRule):
    """`non_blocking=True` on a copy from memory that is not pinned.

    ## What it does
    Flags `.to(device, non_blocking=True)` and `.cuda(non_blocking=True)`, in code that runs every training step or
    forward pass, on a tensor that was just made in ordinary host memory: `torch.from_numpy(array)`,
    `torch.tensor(rows)`, a buffer filled in Python, and parts of a loader's batch that are joined on the host, pinned
    or not: `torch.cat([views[0], views[1]])`. Batches of a loader that does not pin are TPL302's.

    ## Why it is slow
    Only from pinned memory can the device fetch by itself. From pageable memory the driver first copies into a pinned
    buffer of its own, on the host's time, and may wait for the stream. The copy is no worse than without the flag; it
    is not the asynchronous copy that the flag asks for. That is why the finding is reported as info.

    ## Example
    ```python
    import numpy as np
    import torch
    from torch import nn

    def train(model: nn.Module, buffer, optimizer, device, steps: int):
        for _ in range(steps):
            states = torch.from_numpy(np.stack(buffer.sample(256))).to(device, non_blocking=True)
            loss = model(states).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## Use instead
    ```python
    import numpy as np
    import torch
    from torch import nn

    def train(model: nn.Module, buffer, optimizer, device, steps: int):
        staging = torch.empty(256, 84, pin_memory=True)
        for _ in range(steps):
            np.stack(buffer.sample(256), out=staging.numpy())
            states = staging.to(device, non_blocking=True)
            loss = model(states).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            torch.cuda.current_stream().synchronize()
    ```
    One buffer must not be filled again before its copy has arrived: wait for the stream, or take turns with two. A
    `DataLoader` with `pin_memory=True` does all of this in a thread.

    ## When it is fine
    From pinned memory, and from one device to another:
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, queue, optimizer, device):
        for rows in queue:
            x = torch.tensor(rows, pin_memory=True).to(device, non_blocking=True)
            loss = model(x).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## Fix safety
    There is no automatic fix yet: pinning takes time and page-locked memory, so it pays off for buffers that are
    kept, or in another thread.

    ## Confirmed by
    Copies to the device from pageable memory at the line, in at least half of the recorded steps.

    ## References
    - PyTorch tutorial, "A guide on good usage of non_blocking and pin_memory() in PyTorch".
    - NVIDIA, CUDA driver API, "API synchronization behavior".
    """

    code, name, since = "TPL202", "non-blocking-from-pageable", "0.1.0"
    severity = Severity.INFO
    triggers = ("non_blocking",)
    probes = ("transfers",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot copy that cannot be as asynchronous as it is asked to be."""
        for site in file.hot_calls("to", "cuda"):
            if site.hot is None or site.hot.kind == "data":
                continue
            made = pageable_source(site)
            if made is None or runs_beside(site):
                continue
            sure = Confidence.CERTAIN
            if made.factory in JOINS and site.receiver is not None:
                at_times = joined_at_times(project.values, site.receiver, site.frame)
                sure = Confidence.LIKELY if at_times else sure
            because = f"made in pageable memory by `torch.{made.factory}` (line {made.call.lineno})"
            yield self.found(
                site,
                message=f"`{file.brief(site.call)}` copies from memory that is not pinned, so `non_blocking` cannot "
                f"make it asynchronous, {site.hot.when}",
                instead=JOIN_THERE.format(join=made.factory) if made.factory in JOINS else _PIN,
                value=tensor(HOST, because, Confidence.POSSIBLE if site.hot.optional else sure),
                hot=site.hot,
            )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By copies from pageable memory at the line."""
        seen = copies(run, finding, "h2d", lambda copy: copy.attributes.get("pinned") is False)
        return by_events(finding, run, seen, "copy from pageable memory", probes=self.probes)
