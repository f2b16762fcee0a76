"""TPL113."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import by_events
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.reads import cause
from torchperf_lint.facts.reads.scalar_arguments import BOUNDED, FILLED, MASKED, OTHER, SCALED, WEIGHED, scalars
from torchperf_lint.facts.syntax.conditions import short, words
from torchperf_lint.model import Confidence, Finding, Severity, Verdict
from torchperf_lint.rule import SourceRule


class TensorAsPythonScalarArgument(SourceRule):
    """`p.add_(update, alpha=ratio)`, `torch.full(size, x.max())` with a device tensor for the number.

    ## What it does
    Flags device tensors that are given to torch where it takes a Python number: `alpha=` and `beta=` of sums and
    products, `value=` of `addcmul` and `addcdiv`, what `full`, `full_like` and `new_full` fill with, the value of
    `masked_fill`, mean and deviation of `normal_` and of `torch.normal` with a size, one bound of `clamp` beside a
    number, slopes and other parameters of activations and losses; where
    that happens every training step, forward pass or evaluation batch (the last is reported as info).

    ## Why it is slow
    The call looks as if all of it ran on the device, but torch calls `.item()` on the tensor to have the number: the
    host waits until everything queued before it has run. In an optimizer that is once for each parameter.

    ## Example
    ```python
    import torch

    class Lamb(torch.optim.Optimizer):
        @torch.no_grad()
        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    update = self.state[p]["momentum"].mul_(0.9).add_(p.grad.cuda())
                    ratio = torch.linalg.norm(p.cuda()) / torch.linalg.norm(p.grad.cuda())
                    p.add_(update, alpha=-ratio)
    ```

    ## Use instead
    Arithmetic of tensors, which needs no number:
    ```python
    import torch

    class Lamb(torch.optim.Optimizer):
        @torch.no_grad()
        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    update = self.state[p]["momentum"].mul_(0.9).add_(p.grad.cuda())
                    ratio = torch.linalg.norm(p.cuda()) / torch.linalg.norm(p.grad.cuda())
                    p.sub_(update * ratio)
    ```

    ## When it is fine
    Numbers of the host, and functions that take tensors as they are: `fill_`, `where`, `lerp`, `pow`, a single bound
    of `clamp`, or two tensors:
    ```python
    import torch
    from torch import nn

    class Scaled(nn.Module):
        def __init__(self, weight: float = 0.1):
            super().__init__()
            self.weight = weight
            self.proj = nn.Linear(64, 64)

        def forward(self, x: torch.Tensor, mask: torch.Tensor):
            x = self.proj(x.to("cuda"))
            x = torch.where(mask, x.min(), x).clamp(max=x.mean())
            y = torch.full_like(x, self.weight).add(x, alpha=self.weight)
            return torch.lerp(x, y, x.std()), torch.empty_like(x).fill_(x.max())
    ```

    ## Fix safety
    There is no automatic fix: a product that is rounded before it is added differs from `alpha=` in its last digits,
    and gradients flow through a tensor that did not through a number.

    ## Confirmed by
    A synchronisation at the call in at least half of the recorded steps; or several in a row, in a loop of its own.

    ## References
    - Koratahiu/Advanced_Optimizers #5, which took such reads out of optimizers.
    - pytorch/pytorch #190512: `masked_fill_` with a tensor on the device reads it.
    """

    code, name, since = "TPL113", "tensor-as-python-scalar-argument", "0.1.0"
    triggers = (
        *("alpha=", "alpha =", "beta=", "value=", "full", "masked_fill", "nan_to_num", "clamp", "clip", "normal"),
        *("uniform_(", "relu(", "elu(", "softplus(", "hardtanh(", "threshold(", "shrink(", "dropout(", "pad("),
        *("huber_loss", "dot_product_attention", "cosine_similarity"),
    )
    probes = ("host-sync",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot argument that torch reads from the device."""
        del project
        for found in scalars(file):
            hot = found.site.hot
            assert hot is not None
            written = short(words(found.operand))
            yield self.found(
                found.site,
                message=f"`{found.parameter}` of `{file.brief(found.site.call.func)}` has to be a Python number: "
                f"`{written}` is read, and the host waits for the device {hot.when}",
                instead=_INSTEAD[found.form].format(written=written),
                value=found.value.weaker(Confidence.POSSIBLE if hot.optional else Confidence.CERTAIN),
                hot=hot,
                severity=Severity.INFO if hot.kind == "eval" or hot.evaluates or hot.optional else None,
                root_cause=cause(found.site),
            )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By synchronisations at the call."""
        return by_events(finding, run, run.at(finding, "sync"), "synchronisation", probes=self.probes)


_INSTEAD = {
    SCALED: "multiply the tensors: `x.add_(y * {written})`",
    WEIGHED: "multiply the tensors: `x.addcmul_(a * {written}, b)`, `x.addcdiv_(a * {written}, b)`",
    FILLED: "fill on the device: `torch.empty(size, device=x.device).fill_({written})`, or `expand` the tensor",
    MASKED: "choose on the device: `torch.where(mask, {written}, x)`",
    BOUNDED: "bound twice, which reads nothing: `x.clamp(min=0).clamp(max={written})`",
    OTHER: "keep it as a Python number, or compute with the tensor by arithmetic and `torch.where`",
}
