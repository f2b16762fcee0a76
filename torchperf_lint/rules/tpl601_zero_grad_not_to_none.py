"""TPL601."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.errors import CannotFix
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.fixes.edits import Editor, fix_of
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.literals import is_false
from torchperf_lint.model import Edit, Finding, Safety, Severity
from torchperf_lint.patterns import pattern
from torchperf_lint.rule import SourceRule

_GRAPHS = pattern(r"CUDAGraph|cuda\.graph\(|make_graphed_callables|graph_pool")


class ZeroGradNotToNone(SourceRule):
    """`zero_grad(set_to_none=False)` in code that runs every step.

    ## What it does
    Flags `zero_grad` with a literal `set_to_none=False` (or a literal `False` in its place) where the line runs every
    training step. Reported as info. Plain `zero_grad()` drops the gradients since torch 2.0 and is never flagged.

    ## Why it is slow
    Every gradient is filled with zeros, and the backward pass then reads and adds to them where it would have
    written them only. The gradients also stay allocated during the forward pass.

    ## Example
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion, device):
        for x, y in loader:
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad(set_to_none=False)
            loss.backward()
            optimizer.step()
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
    Where gradients of weights that took no part in a step are read as zeros, and where a CUDA graph replays into
    them:
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, mean_gradient: list):
        for batch in loader:
            optimizer.zero_grad(set_to_none=False)
            model(batch).mean().backward()
            for p, mean in zip(model.parameters(), mean_gradient):
                mean.lerp_(p.grad, 0.1)
            optimizer.step()
    ```

    ## Fix safety
    Unsafe: without zeros, optimizers skip weights that took no part in a step, where momentum and weight decay would
    have moved them, and whoever reads `.grad` elsewhere may find None. No fix where the `zero_grad` is the project's
    own: its default is unknown.

    ## Confirmed by
    Nothing yet: no probe watches memory being filled on the device.

    ## References
    - PyTorch documentation of `torch.optim.Optimizer.zero_grad`.
    - PyTorch performance tuning guide, "Use parameter.grad = None".
    """

    code, name, since = "TPL601", "zero-grad-not-to-none", "0.1.0"
    severity = Severity.INFO
    triggers = ("set_to_none", "zero_grad(False")

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot `zero_grad` with a literal False."""
        if _GRAPHS.search(file.text):
            return
        for site in file.hot_calls("zero_grad"):
            if not _keeps_zeros(site) or site.hot is None or site.hot.kind in ("data", "eval") or _reads_grads(site):
                continue
            written = file.brief(site.call.func)
            old = project.must_run_before(2, 0)
            instead = f"write `{written}({'set_to_none=True' if old else ''})`: it drops the gradients"
            yield self.found(
                site,
                message=f"`{file.brief(site.call)}` fills every gradient with zeros {site.hot.when}, and the backward "
                "pass adds to them instead of writing them",
                instead=instead if old else f"{instead} (the default since torch 2.0)",
                hot=site.hot,
                fix=fix_of(site, Safety.UNSAFE, lambda edit, site=site: _by_default(edit, site)),  # type: ignore[misc]
            )


def _keeps_zeros(site: Site) -> bool:
    """A literal False, and not the implementation of an optimizer's own `zero_grad`."""
    if site.record.callee.startswith("super()") or site.receiver is None:
        return False
    value = site.keyword("set_to_none")
    if value is None and len(site.call.args) == 1:
        value = site.call.args[0]
    return is_false(value)


def _by_default(edit: Editor, site: Site) -> list[Edit]:
    if site.file.project.must_run_before(2, 0):
        return edit.set_argument(site.call, "set_to_none", 0, "True")
    if site.file.project.types.targets(site.file.path, site.function, chain(site.call.func)):
        raise CannotFix("its default is the project's own")
    return edit.drop_argument(site.call, "set_to_none" if site.keyword("set_to_none") is not None else 0)


def _reads_grads(site: Site) -> bool:
    """Whether the same function reads `.grad`: it may count on zeros where nothing was computed."""
    nodes = site.file.enclosing(site.record.function).parents
    return any(isinstance(node, ast.Attribute) and node.attr == "grad" for node in nodes)
