"""TPL603."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import by_optimizers
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.files.switches import reached
from torchperf_lint.facts.fixes.edits import fix_of
from torchperf_lint.model import Confidence, Finding, Safety, Severity, Verdict
from torchperf_lint.rule import SourceRule

_SINCE = {"Adam": (2, 0), "AdamW": (2, 0), "SGD": (2, 3)}
"""The releases of torch that brought the fused form of an optimizer on CUDA devices."""
_DOTTED = tuple(dotted for name in _SINCE for dotted in (f"torch.optim.{name}", f"torch.optim.{name.lower()}.{name}"))
_CHOSEN = frozenset({"fused", "foreach", "differentiable"})
_OTHERWISE = ("sparse=True", "sparse = True", "torch.complex", "torch.cfloat", "view_as_complex", "ComplexFloat")
"""Gradients that the fused forms refuse."""


class FusedOptimizerAvailable(SourceRule):
    """An optimizer of torch that has a fused form, built without it.

    ## What it does
    Flags `Adam`, `AdamW` and `SGD` of torch.optim, made in a project that uses an accelerator, with none of `fused`,
    `foreach` and `differentiable` given, nothing unpacked that may hold them, and more to update than a few tensors
    listed one by one. Off by default: what it gains depends
    on the number and the size of the parameters, and now and then it is nothing. Reported as info; in a function that
    nothing in the project calls it is only `possible`.

    ## Why it is slow
    By default torch updates lists of parameters operation by operation, each of which reads and writes all of them;
    the fused form does the whole update in one kernel. It also takes the answer of a `GradScaler` on the device, where
    other optimizers make the host wait for it.

    ## Example
    ```python
    import torch

    model = torch.nn.Linear(8, 8).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    ```

    ## Use instead
    ```python
    import torch

    model = torch.nn.Linear(8, 8).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    ```

    ## When it is fine
    Where the step of the optimizer is a small share of the training step, with sparse or complex parameters, and
    where somebody has chosen:
    ```python
    import torch

    model = torch.nn.Linear(8, 8).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=True)
    ```

    ## Fix safety
    Unsafe: `fused=True` is added. The update rounds in other places, and parameters that are on the host when the
    optimizer is made are refused by older releases of torch.

    ## Confirmed by
    The switch `fused` of the optimizers that stepped on a device. What it would save no probe measures.

    ## References
    - PyTorch documentation of `torch.optim.AdamW`, `fused`.
    - pytorch/torchtitan #355.
    """

    code, name, since = "TPL603", "fused-optimizer-available", "0.1.0"
    severity = Severity.INFO
    default = False
    triggers = ("Adam", "SGD")
    probes = ("steps",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each optimizer built without a choice."""
        if project.must_run_before(2, 0) or not project.uses_accelerator or file.mentions(_OTHERWISE):
            return
        for site in file.calls_of(*_DOTTED):
            name = ast.unparse(site.call.func)
            if not _left_open(site) or project.must_run_before(*_since(site)):
                continue
            yield self.found(
                site,
                message=f"`{name}` has a fused form, which updates all parameters in one kernel",
                instead=f"write `{name}(..., fused=True)`, and measure: the step of the optimizer should be shorter",
                confidence=Confidence.LIKELY if reached(file, site.function) else Confidence.POSSIBLE,
                fix=fix_of(site, Safety.UNSAFE, lambda edit, call=site.call: edit.set_keyword(call, "fused", "True")),  # type: ignore[misc]
            )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By the switch of the optimizers that stepped."""
        return by_optimizers(finding, run, "fused", lambda value: not value)


def _since(site: Site) -> tuple[int, int]:
    """The release that brought the fused form; of what was imported under another name, the last of them."""
    return _SINCE.get(site.record.callee.rpartition(".")[2], (2, 3))


def _left_open(site: Site) -> bool:
    """Whether nothing says how to update: no such argument, nothing unpacked, and more than a few tensors to update."""
    unpacked = any(isinstance(argument, ast.Starred) for argument in site.call.args)
    return (
        not unpacked and not _few(site) and all(k.arg is not None and k.arg not in _CHOSEN for k in site.call.keywords)
    )


def _few(site: Site) -> bool:
    """Whether the tensors are listed one by one: an image, or a scale, that is itself what is optimised."""
    given = site.keyword("params") or (site.call.args[0] if site.call.args else None)
    listed = isinstance(given, ast.List | ast.Tuple)
    return listed and not any(isinstance(element, ast.Dict | ast.Starred) for element in given.elts)  # type: ignore[union-attr]
