"""TPL505."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchperf_lint.confirming import unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.files.switches import asked_for
from torchperf_lint.facts.fixes.edits import fix_of
from torchperf_lint.facts.syntax.literals import is_false, is_true
from torchperf_lint.model import Confidence, Finding, Safety, Verdict
from torchperf_lint.rule import SourceRule

_SCALERS = (
    *("torch.GradScaler", "torch.amp.GradScaler", "torch.cuda.amp.GradScaler"),
    *("torch.amp.grad_scaler.GradScaler", "torch.cuda.amp.grad_scaler.GradScaler"),
)
_AUTOCASTS = (
    *("torch.autocast", "torch.amp.autocast", "torch.cuda.amp.autocast"),
    *("torch.amp.autocast_mode.autocast", "torch.cuda.amp.autocast_mode.autocast"),
)
_BF16 = "torch.bfloat16"
_SINGLE = ("torch.float32", "torch.float")
_HALF = r"(?<!b)float16|\.half\b|\bfp16|_fp16"
"""What speaks of the other half precision, for which the scaler may be there."""


class GradscalerWithBf16(SourceRule):
    """A gradient scaler around training in bfloat16.

    ## What it does
    Flags a `GradScaler` that nothing switches off, in a file whose `autocast` regions all say `dtype=torch.bfloat16`,
    but for those that say `torch.float32`, and that does not speak of float16.

    ## Why it is slow
    bfloat16 has the range of float32: its gradients do not underflow, and there is nothing to scale. The scaler still
    multiplies the loss, goes through all gradients once more to divide them and look for infinities, and reads the
    answer from the device before the optimizer may step, in every step.

    ## Example
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion, device):
        scaler = torch.amp.GradScaler("cuda")
        for x, y in loader:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion, device):
        for x, y in loader:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## When it is fine
    In code for both types, where the scaler follows the type:
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion, device, dtype=torch.bfloat16):
        scaler = torch.amp.GradScaler("cuda", enabled=dtype is torch.float16)
        for x, y in loader:
            with torch.autocast("cuda", dtype=dtype):
                loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
    ```

    ## Fix safety
    Unsafe: `enabled=False` is passed, which makes `scale`, `unscale_` and `update` do nothing and `step` step. The
    scaler also skips steps whose gradients are infinite or NaN; without it such a step is taken.

    ## Confirmed by
    Nothing: no probe looks at the range of gradients. That the line did not run is reported.

    ## References
    - PyTorch documentation, "Automatic Mixed Precision package", "Gradient Scaling": float16 gradients underflow.
    - torch/amp/grad_scaler.py, `_maybe_opt_step`.
    """

    code, name, since = "TPL505", "gradscaler-with-bf16", "0.1.0"
    triggers = ("GradScaler(",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each scaler that has nothing to scale."""
        del project
        if not file.mentions(("bfloat16",)) or not file.mentions((".scale(",)) or re.search(_HALF, file.text):
            return
        scalers = [site for site in file.calls_of(*_SCALERS) if _is_on(site.call, "enabled")]
        if not scalers:
            return
        regions = list(file.calls_of(*_AUTOCASTS))
        halves = [site for site in regions if not _is_float32(file, site)]
        if not halves or not all(_is_bf16(file, site) for site in halves):
            return
        for site in scalers:
            if not asked_for(file, site.call, site.function):
                yield self._told(site, halves[0])

    def _told(self, site: Site, region: Site) -> Finding:
        file = site.file
        return self.found(
            site,
            message=f"`{file.brief(site.call)}` scales gradients of bfloat16 (line {region.record.line}), which has "
            "the range of float32: each step goes through all gradients once more and waits for the answer",
            instead="leave the scaler out: `loss.backward()` and `optimizer.step()`; or pass `enabled=False`",
            confidence=Confidence.LIKELY,
            related=[file.related(file.path, *region.start, "bfloat16 is asked for here")],
            fix=fix_of(site, Safety.UNSAFE, lambda edit: edit.set_keyword(site.call, "enabled", "False")),
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """No probe looks at the range of gradients."""
        return unmeasured(run, finding.location, "no probe looks at the range of gradients")


def _is_on(call: ast.Call, name: str) -> bool:
    """Whether nothing switches a call's object off: no such keyword but a literal True, nothing unpacked."""
    given = [k.value for k in call.keywords if k.arg in (None, name)]
    return all(is_true(value) for value in given)


def _is_bf16(file: SourceFile, site: Site) -> bool:
    """Whether a region is for bfloat16, as written; one that is off, or for the host, has nothing to say."""
    dtype = _dtype(site)
    if dtype is None or not _is_on(site.call, "enabled"):
        return _is_off(site.call)
    return isinstance(dtype, ast.Attribute | ast.Name) and file.denotes(dtype, site) == _BF16


def _is_float32(file: SourceFile, site: Site) -> bool:
    """Whether a region computes in float32, as code for metrics writes it: its gradients need no scaler."""
    dtype = _dtype(site)
    return isinstance(dtype, ast.Attribute | ast.Name) and file.denotes(dtype, site) in _SINGLE


def _dtype(site: Site) -> ast.expr | None:
    """The type that a region is given."""
    positional = [a for a in site.call.args if isinstance(a, ast.Attribute | ast.Name)]
    return site.keyword("dtype") or (positional[-1] if positional else None)


def _is_off(call: ast.Call) -> bool:
    values = [k.value for k in call.keywords if k.arg == "enabled"]
    return bool(values) and is_false(values[0])
