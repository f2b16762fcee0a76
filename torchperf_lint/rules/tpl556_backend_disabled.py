"""TPL556."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import by_setting, unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Place, SourceFile
from torchperf_lint.facts.files.switches import Mark, asked_for, reached
from torchperf_lint.facts.fixes.edits import fix_of
from torchperf_lint.facts.models.slow_attention import math_only
from torchperf_lint.facts.processes.environment import settings_of, unset
from torchperf_lint.facts.processes.process_flags import explained, flags_set
from torchperf_lint.model import Confidence, Finding, Safety, Verdict
from torchperf_lint.rule import SourceRule

_CUDNN = "torch.backends.cudnn.enabled"
_VARIABLE = "TORCH_CUDNN_V8_API_DISABLED"


class BackendDisabled(SourceRule):
    """cuDNN, or the fused kernels of attention, are switched off in ordinary runs.

    ## What it does
    Flags `torch.backends.cudnn.enabled = False`, attention without its flash and memory-efficient kernels
    (`sdpa_kernel(SDPBackend.MATH)`, `enable_flash_sdp(False)` together with `enable_mem_efficient_sdp(False)`), and
    `TORCH_CUDNN_V8_API_DISABLED=1`, where no flag decides about it. With a comment that says why, in a function that
    nothing in the project calls, or in a file that differentiates twice, it is only `possible`.

    ## Why it is slow
    Without cuDNN convolutions and recurrent layers run on PyTorch's own kernels. The math backend of attention
    writes the whole matrix of scores to memory, which grows with the square of the length.

    ## Example
    ```python
    import torch
    from torch import nn

    torch.backends.cudnn.enabled = False

    def train(model: nn.Module, loader, optimizer, criterion, device):
        for x, y in loader:
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## Use instead
    Nothing; and for results that can be repeated:
    ```python
    import torch

    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    ```

    ## When it is fine
    Behind a flag, for a moment, and where a second derivative has no other kernel:
    ```python
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def penalty(critic, x):
        with sdpa_kernel(SDPBackend.MATH):
            (gradient,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
        return (gradient.norm(dim=1) - 1).square().mean()
    ```

    ## Fix safety
    Unsafe: the assignment is removed. Results then differ in the last digits, and a bug of a kernel that it avoided
    comes back. None for attention.

    ## Confirmed by
    The switch of cuDNN as a training step of the run found it. Of attention no probe looks at which kernels run.

    ## References
    - PyTorch documentation of `torch.backends.cudnn` and `torch.nn.attention.sdpa_kernel`.
    """

    code, name, since = "TPL556", "backend-disabled", "0.1.0"
    triggers = ("cudnn", "sdp", _VARIABLE)
    probes = ("state",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each place that switches fast kernels off."""
        del project
        if file.mentions((".enabled",)):
            for flag in flags_set(file, _CUDNN):
                if _is(flag.value, False):
                    yield from self._told(flag.mark, *_OF_CUDNN, removable=True)
        if file.mentions((_VARIABLE,)):
            for mark, value in settings_of(file, _VARIABLE):
                if isinstance(value, ast.Constant) and str(value.value) == "1":
                    yield from self._told(mark, *_OF_V8, removable=True)
        if file.mentions(("sdp_kernel", "sdpa_kernel", "_sdp(")):
            for site in math_only(file):
                yield from self._told(Mark(file, site.call, site.function, site.hot), *_OF_ATTENTION)

    def _told(self, mark: Mark, message: str, instead: str, removable: bool = False) -> Iterator[Finding]:
        file, node = mark.file, mark.expression
        if asked_for(file, node, mark.function):
            return
        sure = reached(file, mark.function) or mark.hot is not None
        variable = _VARIABLE if (message, instead) == _OF_V8 else ""
        yield self.found(
            mark,
            message=f"`{file.brief(node)}` {message}",
            instead=instead,
            confidence=Confidence.LIKELY if sure and not explained(file, _statement(mark)) else Confidence.POSSIBLE,
            fix=fix_of(mark, Safety.UNSAFE, lambda edit: unset(edit, node, variable)) if removable else None,
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By the switches that a training step found; a `with` block may have ended before."""
        if _VARIABLE in finding.message or "kernels of attention" in finding.message:
            return unmeasured(run, finding.location, "no probe looks at which kernels of attention run")
        enabled = run.state.get("cudnn_enabled")
        said = (f"cuDNN was switched off while it {run.trained}", f"cuDNN was on while it {run.trained}")
        return by_setting(finding, run, None if enabled is None else not enabled, said)


def _statement(place: Place) -> ast.expr | ast.stmt:
    return place.file.enclosing(place.function).statement(place.expression) or place.expression


def _is(node: ast.expr, value: bool) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


_OF_CUDNN = (
    "switches cuDNN off for the whole process: convolutions and recurrent layers run on slower kernels",
    "remove it; for results that can be repeated set `torch.backends.cudnn.deterministic = True`",
)
_OF_V8 = ("sets the environment so that cuDNN's newer interface is not used", "remove it")
_OF_ATTENTION = (
    "switches the flash and memory-efficient kernels of attention off: the math backend writes the whole matrix of "
    "scores to memory",
    "let PyTorch choose among its backends, or name the fast ones: "
    "`sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH])`",
)
