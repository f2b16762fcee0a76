"""TPL757."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import by_collectives
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.model import Finding, Severity, Verdict
from torchperf_lint.rule import SourceRule

_NAMES = tuple(api.OBJECT_COLLECTIVES)
_OF_LIBRARIES = ("detectron2.utils.comm.all_gather", "detectron2.utils.comm.gather")
"""Those that do the same: Detectron2's pickle what they are given, a dictionary of numbers too."""
_DOTTED = (*(f"torch.distributed.{name}" for name in _NAMES), *_OF_LIBRARIES)
_EACH = frozenset({"step", "eval", "rollout", "forward", "update"})


class ObjectCollectivesInLoop(SourceRule):
    """Python objects are exchanged between processes for every batch.

    ## What it does
    Flags `all_gather_object`, `gather_object`, `broadcast_object_list` and `scatter_object_list` in code that runs
    for every batch, and `comm.gather` and `comm.all_gather` of Detectron2, which do the same; for batches of an
    evaluation as info.

    ## Why it is slow
    The objects are pickled on the host, their sizes are exchanged in a collective operation of its own, the bytes are
    copied to the device, exchanged and copied back, and the host waits for all of it.

    ## Example
    ```python
    import torch.distributed as dist

    def train(model, loader, optimizer, world_size):
        for batch in loader:
            optimizer.zero_grad()
            loss = model(batch).mean()
            loss.backward()
            optimizer.step()
            seen = [None] * world_size
            dist.all_gather_object(seen, {"size": len(batch)})
    ```

    ## Use instead
    A tensor, exchanged as it is; or one exchange after the loop:
    ```python
    import torch.distributed as dist

    def train(model, loader, optimizer, world_size):
        sizes = []
        for batch in loader:
            optimizer.zero_grad()
            loss = model(batch).mean()
            loss.backward()
            optimizer.step()
            sizes.append(len(batch))
        seen = [None] * world_size
        dist.all_gather_object(seen, sizes)
    ```

    ## When it is fine
    Every so many steps:
    ```python
    import torch.distributed as dist

    def train(model, loader, optimizer, world_size):
        for step, batch in enumerate(loader):
            optimizer.zero_grad()
            loss = model(batch).mean()
            loss.backward()
            optimizer.step()
            if step % 1000 == 0:
                seen = [None] * world_size
                dist.all_gather_object(seen, {"size": len(batch)})
    ```

    ## Fix safety
    There is no automatic fix: what to send instead depends on the objects.

    ## Confirmed by
    Collectives that were called at the line, in at least half of the recorded steps or evaluation batches, with the
    time the host stood in them. A group of one process refutes.

    ## References
    - PyTorch documentation of `torch.distributed.all_gather_object`, its notes.
    """

    code, name, since = "TPL757", "object-collectives-in-loop", "0.1.0"
    triggers = (*(f"{name}(" for name in _NAMES), "comm.gather(", "comm.all_gather(", "utils.comm import")
    probes = ("collectives",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each exchange of objects in hot code."""
        del project
        for site in file.calls_of(*_DOTTED):
            hot = site.hot
            if hot is None or hot.kind not in _EACH or hot.optional:
                continue
            yield self.found(
                site,
                message=f"`{file.brief(site.call)}` pickles objects and exchanges them in two collective operations "
                f"that the host waits for, {hot.when}",
                instead="send a tensor with `all_gather_into_tensor` or `broadcast`, or collect the objects and "
                "exchange them once after the loop",
                hot=hot,
                severity=Severity.INFO if hot.kind == "eval" else None,
            )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By the collectives that were called at the line."""
        return by_collectives(finding, run)
