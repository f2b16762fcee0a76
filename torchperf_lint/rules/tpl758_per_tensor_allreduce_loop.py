"""TPL758."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import by_collectives
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.element_loops.parameters import per_parameter
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.files.switches import asked_for
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.model import Confidence, Finding, Verdict
from torchperf_lint.rule import SourceRule

_COLLECTIVES = tuple(f"torch.distributed.{name}" for name in ("all_reduce", "reduce", "reduce_scatter_tensor"))
_NOT_HERE = frozenset({"data", "eval"})
_SAME = frozenset({"contiguous", "detach", "view", "flatten", "to_dense"})
"""What gives the gradient itself, laid out in another way."""


class PerTensorAllreduceLoop(SourceRule):
    """Gradients are exchanged between processes one by one.

    ## What it does
    Flags a collective operation of torch.distributed on the gradient of one parameter, in a loop over parameters.
    Gradients are exchanged after each backward pass, so such a loop is taken to run every training step.

    ## Why it is slow
    Each parameter costs a collective operation of its own; for biases and norms there is little to move, and what
    starting the operation takes remains. All of them come after the backward pass, where DistributedDataParallel
    exchanges buckets of gradients while the backward pass still computes others.

    ## Example
    ```python
    import torch.distributed as dist
    from torch import nn

    def average_gradients(model: nn.Module):
        size = float(dist.get_world_size())
        for param in model.parameters():
            dist.all_reduce(param.grad.data, op=dist.ReduceOp.SUM)
            param.grad.data /= size
    ```

    ## Use instead
    `DistributedDataParallel`; or, where the gradients must be complete first, one exchange for all of them:
    ```python
    import torch
    import torch.distributed as dist
    from torch import nn

    def average_gradients(model: nn.Module):
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        flat = torch.cat([g.flatten() for g in grads])
        dist.all_reduce(flat, op=dist.ReduceOp.AVG)
        torch._foreach_copy_(grads, [part.view_as(g) for part, g in zip(flat.split([g.numel() for g in grads]), grads)])
    ```

    ## When it is fine
    Weights sent to all processes once, before training:
    ```python
    import torch.distributed as dist
    from torch import nn

    class Replicated(nn.Module):
        def __init__(self, module: nn.Module):
            super().__init__()
            self.module = module
            for p in module.parameters():
                dist.broadcast(p.data, 0)
    ```

    ## Fix safety
    There is no automatic fix: which gradients may share a buffer depends on their types and devices.

    ## Confirmed by
    Collectives that were called at the line, two or more at a time, in at least half of the recorded steps, with the
    time the host stood in them. One at a time (a model with one parameter), or a group of one process, refutes.

    ## References
    - PyTorch documentation of `torch.nn.parallel.DistributedDataParallel`, and its design note.
    """

    code, name, since = "TPL758", "per-tensor-allreduce-loop", "0.1.0"
    triggers = ("all_reduce(", "reduce(", "reduce_scatter_tensor(")
    probes = ("collectives",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each exchange of one gradient in a loop over parameters."""
        del project
        for site in file.calls_of(*_COLLECTIVES):
            loop = per_parameter(file, site)
            if loop is None or not site.call.args or not _is_gradient(site.call.args[0]):
                continue
            hot = site.hot or _after_backward(file, site)
            # Within the loop a test asks for the parameter: whether it has a gradient.
            around = loop if isinstance(loop, ast.For) else site.call
            if hot.kind in _NOT_HERE or (site.hot is None and asked_for(file, around, site.function)):
                continue
            yield self.found(
                site,
                message=f"`{file.brief(site.call)}` is a collective operation for each of `{file.brief(loop.iter)}`, "
                f"{hot.when}",
                instead="wrap the model in DistributedDataParallel, which exchanges buckets during the backward pass; "
                "or flatten the gradients into one tensor and exchange that",
                hot=hot,
            )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By the collectives that were called at the line."""
        return by_collectives(finding, run, fewest=2)


def _is_gradient(node: ast.expr) -> bool:
    """`p.grad`, `p.grad.data`, `p.grad.contiguous()`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SAME:
        node = node.func.value
    return chain(node).endswith((".grad", ".grad.data"))


def _after_backward(file: SourceFile, site: Site) -> Hot:
    because = "gradients are there to be exchanged once a backward pass has ended: every training step"
    return Hot("update", because, "after each backward pass", Confidence.LIKELY, file.path, site.call.lineno)
