"""TPL752."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.files.switches import asked_for
from torchperf_lint.facts.fixes.edits import fix_of
from torchperf_lint.facts.models.all_used import uses_all_parameters
from torchperf_lint.facts.processes.process_flags import explained
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_text, is_true
from torchperf_lint.model import Confidence, Finding, Safety, Verdict
from torchperf_lint.rule import SourceRule

_DDP = ("torch.nn.parallel.DistributedDataParallel", "torch.nn.parallel.distributed.DistributedDataParallel")
_OPTIONS = (
    "accelerate.DistributedDataParallelKwargs",
    "accelerate.utils.DistributedDataParallelKwargs",
    "accelerate.utils.dataclasses.DistributedDataParallelKwargs",
    "lightning.DDPStrategy",
    "lightning.Trainer",
    "transformers.TrainingArguments",
)
_NAMES = ("find_unused_parameters", "ddp_find_unused_parameters")


class FindUnusedParameters(SourceRule):
    """`DistributedDataParallel(..., find_unused_parameters=True)` around a model that uses all its parameters.

    ## What it does
    Flags a literal `find_unused_parameters=True` where the class of the wrapped model is known and its forward pass
    is one straight line through all that its constructor makes. Where nothing is known of the model, and in the
    options of frameworks (`DDPStrategy`, `DistributedDataParallelKwargs`, `TrainingArguments`,
    `strategy="ddp_find_unused_parameters_true"`), it is only `possible`.

    ## Why it is slow
    After each forward pass the host walks the whole autograd graph in order to find the parameters that will get no
    gradient, before the backward pass may begin.

    ## Example
    ```python
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(64, 64)
            self.head = nn.Linear(64, 10)

        def forward(self, x):
            return self.head(self.body(x).relu())

    def build(local_rank: int):
        model = Net().cuda(local_rank)
        return DistributedDataParallel(model, device_ids=[local_rank], find_unused_parameters=True)
    ```

    ## Use instead
    ```python
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(64, 64)
            self.head = nn.Linear(64, 10)

        def forward(self, x):
            return self.head(self.body(x).relu())

    def build(local_rank: int):
        return DistributedDataParallel(Net().cuda(local_rank), device_ids=[local_rank])
    ```
    Parameters that no pass uses can be frozen, `p.requires_grad_(False)`; where each pass uses the same ones,
    `static_graph=True` finds them once.

    ## When it is fine
    Where a pass takes one of several branches, where the model is only evaluated, and with `static_graph=True`:
    ```python
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.left = nn.Linear(64, 64)
            self.right = nn.Linear(64, 64)

        def forward(self, x, go_left: bool):
            return self.left(x) if go_left else self.right(x)

    def build(local_rank: int):
        model = Experts().cuda(local_rank)
        return DistributedDataParallel(model, device_ids=[local_rank], find_unused_parameters=True)
    ```

    ## Fix safety
    Unsafe: `True` becomes `False`. If the loss leaves an output of the model out, the second step then ends with an
    error that names the parameters without gradients.

    ## Confirmed by
    Nothing: no probe looks at it. PyTorch itself warns in the first step where no parameter was unused.

    ## References
    - PyTorch documentation of `torch.nn.parallel.DistributedDataParallel`, `find_unused_parameters`, `static_graph`.
    - lightly-ai/lightly #1434; mosaicml/composer #9.
    """

    code, name, since = "TPL752", "find-unused-parameters", "0.1.0"
    triggers = ("find_unused_parameters",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each place that asks for the search without need."""
        for site in file.calls_of(*_DDP, *_OPTIONS):
            switch = _switch(site)
            if switch is None or is_true(site.keyword("static_graph")) or asked_for(file, site.call, site.function):
                continue
            if _is_evaluated(file, site):
                continue
            known = file.denotes(site.call.func, site) in _DDP and _is_whole(file, project, site)
            if not known and file.weakest is not Confidence.POSSIBLE:
                continue
            yield self.found(
                site,
                message=f"`{switch.arg}={file.brief(switch.value)}`: "
                "the autograd graph is searched for unused parameters in every step"
                + (", and the forward pass of the model uses all of them" if known else ""),
                instead="leave it out; freeze what no pass uses (`p.requires_grad_(False)`), and where each pass uses "
                "the same parameters set `static_graph=True`",
                confidence=Confidence.LIKELY if known and not explained(file, switch.value) else Confidence.POSSIBLE,
                fix=fix_of(site, Safety.UNSAFE, lambda edit, node=switch.value: [edit.replace(node, "False")])  # type: ignore[misc]
                if switch.arg in _NAMES
                else None,
            )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """No probe looks at the search."""
        return unmeasured(run, finding.location, "no probe looks at the search for unused parameters")


def _is_evaluated(file: SourceFile, site: Site) -> bool:
    """`model.eval()`, then `DDP(model, ...)`, and no `train()`: without a backward pass nothing is searched."""
    model = chain(site.call.args[0]) if site.call.args else ""
    modes = [c for c in file.outline.calls if c.function == site.function and c.callee.startswith(f"{model}.")]
    trained = any(c.callee == f"{model}.train" for c in modes)
    return not trained and any(c.callee == f"{model}.eval" and c.line < site.record.line for c in modes)


def _switch(site: Site) -> ast.keyword | None:
    """The argument that turns the search on by a literal."""
    for keyword in site.call.keywords:
        if keyword.arg in _NAMES and is_true(keyword.value):
            return keyword
        named = is_text(keyword.value)
        if keyword.arg == "strategy" and named and keyword.value.value.endswith("find_unused_parameters_true"):  # type: ignore[attr-defined]
            return keyword
    return None


def _is_whole(file: SourceFile, project: Project, site: Site) -> bool:
    model = site.call.args[0] if site.call.args else site.keyword("module")
    if isinstance(model, ast.Call) and last_part(chain(model.func)) == "convert_sync_batchnorm" and model.args:
        model = model.args[0]
    if model is not None and chain(model).startswith("self."):
        model = _assigned_before(project, site, chain(model)[5:]) or model
    return model is not None and uses_all_parameters(project, file.value(model, site).thing)


def _assigned_before(project: Project, site: Site, name: str) -> ast.expr | None:
    """What the same function has assigned to `self.model` above `self.model = DistributedDataParallel(self.model)`."""
    body = project.body(site.file.path)
    made = body.self_assignments(site.function) if body is not None else []
    return next((value for n, value, _ in reversed(made) if n == name and value.lineno < site.call.lineno), None)
