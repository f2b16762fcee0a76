"""TPL501."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.switches import Mark, asked_for, reached
from torchperf_lint.facts.processes.process_flags import explained, flags_set
from torchperf_lint.facts.syntax.literals import is_literal
from torchperf_lint.model import Confidence, Finding, Outcome, Severity, Verdict
from torchperf_lint.rule import SourceRule

_OFF = {
    "torch.backends.cuda.matmul.allow_tf32": False,
    "torch.backends.cudnn.allow_tf32": False,
    "torch.backends.cuda.matmul.fp32_precision": "ieee",
    "torch.backends.cudnn.fp32_precision": "ieee",
    "torch.backends.fp32_precision": "ieee",
}
_SETTER = "torch.set_float32_matmul_precision"
_TRAINS = (".backward(", ".fit(", "training_step", "Trainer(")
_NOT_FLOAT32 = ("autocast", "bfloat16", "bf16", "float16", "fp16", ".half(", "float64", ".double(")


class Tf32UnsetOrDisabled(SourceRule):
    """TF32 is switched off in code that trains in float32.

    ## What it does
    Flags `allow_tf32 = False`, `fp32_precision = "ieee"` and `torch.set_float32_matmul_precision("highest")` in files
    that train, where no flag decides about it, no comment says why, and nothing in the file computes in other
    precisions. Reported as info, once a function: whether a model needs full float32 only its author can tell. That
    TF32 is not set at all is not reported.

    ## Why it is slow
    On NVIDIA devices since Ampere float32 matrix products and convolutions run on tensor cores only as TF32, which
    keeps the range of float32 and rounds inputs to 10 bits of mantissa. PyTorch allows that in convolutions, not in
    matrix products, unless it is told.

    ## Example
    ```python
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False

    def train(model, loader, optimizer, criterion, device):
        for x, y in loader:
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## Use instead
    ```python
    import torch

    torch.set_float32_matmul_precision("high")

    def train(model, loader, optimizer, criterion, device):
        for x, y in loader:
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## When it is fine
    Where results are compared digit by digit, in simulations, and beside mixed precision:
    ```python
    import torch

    # forces are differences of large energies: full float32
    torch.backends.cuda.matmul.allow_tf32 = False

    def train(model, loader, optimizer):
        for x, y in loader:
            loss = (model(x) - y).square().mean()
            loss.backward()
            optimizer.step()
    ```

    ## Fix safety
    There is no automatic fix: numbers change, by about a thousandth; and a process that mixes `allow_tf32` with
    `fp32_precision`, new in 2.9, may get a RuntimeError.

    ## Confirmed by
    Nothing measured: the precision of matrix products in a training step of the run refutes it where it is not
    "highest".

    ## References
    - PyTorch CUDA semantics, "TensorFloat-32 (TF32) on Ampere (and later) devices".
    - PyTorch documentation of `torch.set_float32_matmul_precision`.
    """

    code, name, since = "TPL501", "tf32-unset-or-disabled", "0.1.0"
    severity = Severity.INFO
    triggers = ("allow_tf32", "fp32_precision", "set_float32_matmul_precision")

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for the first place of each function that switches TF32 off."""
        del project
        if not file.mentions(_TRAINS) or file.mentions(_NOT_FLOAT32):
            return
        told: set[int] = set()
        for mark in sorted(_switched_off(file), key=lambda mark: mark.frame.at):
            if mark.function in told:
                continue
            statement = file.enclosing(mark.function).statement(mark.expression) or mark.expression
            if asked_for(file, mark.expression, mark.function) or explained(file, statement):
                continue
            yield self.found(
                mark,
                message=f"`{file.brief(mark.expression)}` keeps float32 from tensor cores, which take it as TF32",
                instead='if the model does not need full float32: `torch.set_float32_matmul_precision("high")`, and '
                "leave `torch.backends.cudnn` as it is",
                confidence=Confidence.LIKELY if reached(file, mark.function) else Confidence.POSSIBLE,
            )
            told.add(mark.function)

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By the precision of matrix products that a training step found."""
        precision = run.state.get("matmul_precision")
        if "cudnn" not in finding.message and precision not in (None, "highest") and run.ran(finding.location) != 0:
            said = f'the precision of matrix products was "{precision}" while it {run.trained}'
            return Verdict(Outcome.REFUTED, said)
        return unmeasured(run, finding.location, "no probe looks at which kernels run")


def _switched_off(file: SourceFile) -> Iterator[Mark]:
    for flag in flags_set(file, *_OFF):
        if isinstance(flag.value, ast.Constant) and flag.value.value == _OFF[flag.dotted]:
            yield flag.mark
    setters = list(file.calls_of(_SETTER))
    for site in setters:
        given = site.call.args[0] if site.call.args else site.keyword("precision")
        if is_literal(given, "highest") and len(setters) == 1:
            yield Mark(file, site.call, site.function, site.hot)
