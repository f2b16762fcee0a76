"""TPL108."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import by_events
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.copies.gathered_numbers import gathered_numbers
from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.element_loops.parameters import called_per_parameter, per_parameter
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Place, SourceFile
from torchperf_lint.facts.reads.consequences import DECIDES, REPLACES, SELECTS, consequence
from torchperf_lint.facts.reads.extremes import extremes
from torchperf_lint.facts.reads.finite import checks
from torchperf_lint.facts.reads.reads import cause, conversion_readings, copy_readings, item_readings
from torchperf_lint.facts.reads.truths import truths
from torchperf_lint.facts.values.value import Value
from torchperf_lint.model import Confidence, Finding, Severity, Verdict
from torchperf_lint.patterns import pattern
from torchperf_lint.rule import SourceRule


class PerParameterRead(SourceRule):
    """A read of the device for each parameter of a model, in code that runs every step.

    ## What it does
    Flags `.item()`, `float(t)`, `.cpu()`, `if t:`, `max(t, 1.0)` and checks for NaN inside a loop over `parameters()`,
    `named_parameters()`, `group["params"]` or gradients, where that loop runs every training step; also in a helper
    that nothing but such loops call. `torch.tensor([p.grad.norm() for p in ...])` reads each as well; `torch.stack`
    does not.

    ## Why it is slow
    Each read copies one number to the host and waits until everything queued on the device before it has run. A model
    has hundreds of parameters, so the host waits hundreds of times a step, and the device runs one tiny kernel between
    two waits.

    ## Example
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion: nn.Module, device):
        norms = []
        for x, y in loader:
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            total = 0.0
            for p in model.parameters():
                total += p.grad.norm().item() ** 2
            norms.append(total**0.5)
            optimizer.step()
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion: nn.Module, device):
        norms = []
        for x, y in loader:
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            norms.append(torch.nn.utils.get_total_norm(p.grad for p in model.parameters()))
            optimizer.step()
        return torch.stack(norms).tolist()
    ```

    ## When it is fine
    Once every n steps, and for what the host knows anyway:
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion: nn.Module, device):
        for step, (x, y) in enumerate(loader):
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            weights = sum(p.numel() for p in model.parameters() if p.requires_grad)
            if step % 500 == 0:
                print(weights, {name: p.grad.norm().item() for name, p in model.named_parameters()})
            optimizer.step()
    ```
    A read that decides what an optimizer does with the parameter is only `possible`: shown with
    `--confidence possible`.

    ## Fix safety
    There is no automatic fix: what to compute for all parameters at once depends on the loop.

    ## Confirmed by
    A synchronisation at the line in at least half of the recorded steps; or several in a row, in a loop of its own.

    ## References
    - PyTorch performance tuning guide, "Avoid unnecessary CPU-GPU synchronization".
    - `torch.nn.utils.get_total_norm` (torch 2.6), `torch.nn.utils.clip_grad_norm_`, which returns the norm.
    """

    code, name, since = "TPL108", "per-parameter-read", "0.1.0"
    triggers = ("param", "grad")
    probes = ("host-sync",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each read inside a hot loop over parameters."""
        del project
        for place, operand in _reads(file):
            over = _over(file, place)
            if over is not None:
                yield from self._judged(file, place, operand, over)
        for site, operand, value in extremes(file):
            over = _over(file, site)
            if over is not None:
                yield from self._judged(file, site, operand, over, value)

    def _judged(
        self, file: SourceFile, place: Place, operand: ast.expr, over: str, compared: Value | None = None
    ) -> Iterator[Finding]:
        value, hot = compared or on_device(file, place, operand), place.hot
        if value is None or hot is None or hot.kind == "data":
            return
        then = consequence(place)
        disputable = hot.optional or then == DECIDES
        assert isinstance(place.expression, ast.expr)
        yield self.found(
            place,
            message=f"`{file.brief(place.expression)}` makes the host wait for the device once for each of "
            f"`{over}`, {hot.when}",
            instead=_LARGER if compared is not None else _instead(place.expression, operand, then),
            value=value,
            hot=hot,
            severity=Severity.INFO if disputable or hot.kind == "eval" else None,
            confidence=Confidence.POSSIBLE if hot.optional else None,
            root_cause=cause(place),
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By synchronisations at the line."""
        return by_events(finding, run, run.at(finding, "sync"), "synchronisation", probes=self.probes)


_STACK = (
    "compute for all parameters first and read once: `torch.stack([...]).tolist()`; the norm of all gradients is what "
    "`clip_grad_norm_` returns, or `torch.nn.utils.get_total_norm(grads)`"
)
_JOIN = (
    "copy all of them at once, `torch.cat([t.detach().flatten() for t in tensors]).cpu()`, and take the parts of that "
    "apart on the host: `flat.split(sizes)`"
)
_CHOOSE = "let the device choose: `torch.where(test, a, b)`"
_LARGER = "let the device compare: `t.clamp(min=1.0)`, `torch.maximum(a, b)`; of a list `torch.stack(norms).max()`"


def _instead(read: ast.expr, operand: ast.expr, then: str | None) -> str:
    """What to write in place of a read that is compared with no other parameter's."""
    if then in (REPLACES, SELECTS):
        return _CHOOSE
    return _JOIN if _copies(read) and _is_whole(operand) else _STACK


_COPIES = frozenset({"cpu", "numpy", "tolist", "to"})
_KEEPS_ALL = frozenset({"detach", "clone", "cpu", "float", "numpy", "contiguous", "flatten", "reshape", "view"})


def _copies(read: ast.expr) -> bool:
    return isinstance(read, ast.Call) and isinstance(read.func, ast.Attribute) and read.func.attr in _COPIES


def _is_whole(operand: ast.expr) -> bool:
    """Whether all of a gradient or parameter is read, as its name has it, and no number that was computed of it."""
    while isinstance(operand, ast.Call | ast.Attribute):
        if isinstance(operand, ast.Attribute) and operand.attr == "grad":
            return True
        if isinstance(operand, ast.Call):
            if not isinstance(operand.func, ast.Attribute) or operand.func.attr not in _KEEPS_ALL:
                return False
            operand = operand.func
        assert isinstance(operand, ast.Attribute)
        operand = operand.value
    return isinstance(operand, ast.Name) and _PARAMETER.search(operand.id) is not None


_PARAMETER = pattern(r"^(?:p|w|g|params?|parameters?|weights?|grads?|gradients?)$")


def _over(file: SourceFile, place: Place) -> str | None:
    """What the loop over parameters around a place, or around each call of its function, goes over, as written."""
    loop = per_parameter(file, place)
    return file.brief(loop.iter) if loop is not None else called_per_parameter(file, place)


def _reads(file: SourceFile) -> Iterator[tuple[Place, ast.expr]]:
    for reading in (*item_readings(file), *conversion_readings(file), *copy_readings(file)):
        yield reading.site, reading.operand
    for check in checks(file):
        yield check.place, check.operand
    for spot in truths(file):
        assert isinstance(spot.expression, ast.expr)
        yield spot, spot.expression
    yield from gathered_numbers(file)
