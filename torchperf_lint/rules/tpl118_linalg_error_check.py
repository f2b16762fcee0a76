"""TPL118."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import by_events
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.checked_solutions import UNCHECKED, Solution, checked_solutions
from torchperf_lint.facts.reads.reads import cause
from torchperf_lint.facts.syntax.conditions import short, words
from torchperf_lint.model import Confidence, Finding, Severity, Verdict
from torchperf_lint.rule import SourceRule


class LinalgErrorCheck(SourceRule):
    """`torch.linalg.solve`, `inv`, `cholesky`: the host waits to learn whether it worked; `solve_ex` does not ask.

    ## What it does
    Flags hot calls of `torch.linalg.inv`, `cholesky`, `solve`, `lu_factor` and `ldl_factor`, of `torch.inverse` and
    `x.inverse()`, with a matrix on the device. Info; and only `possible`, shown with `--confidence possible`, but for
    `solve`: readers disagree about inverses and factors, whose check is worth its wait where a matrix may be singular,
    and which cost far more where it is large.

    ## Why it is slow
    These functions raise an error on the host where a matrix is singular or not positive definite, so the host waits
    for the device in every call. For a batch of 2 x 2 matrices the wait is nearly all that they cost.

    ## Example
    ```python
    import torch
    from torch import nn

    class GaussianLoss(nn.Module):
        def forward(self, difference: torch.Tensor, sigma: torch.Tensor):
            sigma = sigma.cuda()
            return (difference @ torch.linalg.solve(sigma, difference.mT)).mean()
    ```

    ## Use instead
    The variant that leaves the check to you: look at `info` now and then, or not at all where the matrix is sound by
    how it is made.
    ```python
    import torch
    from torch import nn

    class GaussianLoss(nn.Module):
        def forward(self, difference: torch.Tensor, sigma: torch.Tensor):
            sigma = sigma.cuda()
            solved, info = torch.linalg.solve_ex(sigma, difference.mT)
            return (difference @ solved).mean()
    ```

    ## When it is fine
    Where the error is handled, which needs the check, on the host, and once at the beginning:
    ```python
    import torch
    from torch import nn

    class Whitening(nn.Module):
        def __init__(self, covariance: torch.Tensor):
            super().__init__()
            self.register_buffer("whiten", torch.linalg.inv(covariance))

        def forward(self, x: torch.Tensor):
            x = x.cuda() @ self.whiten
            try:
                return torch.linalg.cholesky(x.mT @ x)
            except torch.linalg.LinAlgError:
                return torch.zeros_like(x)
    ```

    ## Fix safety
    There is no automatic fix: without the check a singular matrix gives numbers that mean nothing, and no error.

    ## Confirmed by
    A synchronisation at the call in at least half of the recorded steps; or several in a row, in a loop of its own.

    ## References
    - PyTorch documentation of `torch.linalg.inv`, `cholesky`, `solve`, `lu_factor`, `ldl_factor`: "synchronizes that
      device with the CPU"; and of their variants with `_ex`.
    """

    code, name, since = "TPL118", "linalg-error-check", "0.1.0"
    severity = Severity.INFO
    triggers = ("linalg", "inverse(", "cholesky(")
    probes = ("host-sync",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot call that waits to learn whether it worked."""
        del project
        for solution in checked_solutions(file):
            yield self._found(file, solution)

    def _found(self, file: SourceFile, solution: Solution) -> Finding:
        site, hot = solution.site, solution.site.hot
        assert hot is not None
        variant, _ = UNCHECKED[solution.function]
        sure = variant == "solve_ex" and not hot.optional
        matrix = short(words(solution.matrix))
        return self.found(
            site,
            message=f"`{file.brief(site.call.func)}` asks the device whether `{matrix}` was fit for it, and the host "
            f"waits for the answer {hot.when}",
            instead=f"`{_written(solution)}`, and look at `info` now and then, where the matrix is sound by how it is "
            f"made",
            value=solution.value.weaker(Confidence.LIKELY if sure else Confidence.POSSIBLE),
            hot=hot,
            root_cause=f"{variant}: {cause(site)}",
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By synchronisations at the call."""
        return by_events(finding, run, run.at(finding, "sync"), "synchronisation", probes=self.probes)


def _written(solution: Solution) -> str:
    """The call of the variant, with the names that its documentation gives its results."""
    variant, result = UNCHECKED[solution.function]
    call = solution.site.call
    method = isinstance(call.func, ast.Attribute) and call.func.value is solution.matrix
    given = [_shown(solution.matrix)] if method else []
    given += [f"upper={_shown(a)}" if n and variant == "cholesky_ex" else _shown(a) for n, a in enumerate(call.args)]
    given += [f"{'A' if k.arg == 'input' else k.arg}={_shown(k.value)}" for k in call.keywords]
    kept = {"": "factor, pivots, info", "inverse": "inverse, info", "L": "L, info", "result": "x, info"}[result]
    return f"{kept} = torch.linalg.{variant}({', '.join(given)})"


def _shown(argument: ast.expr) -> str:
    return short(words(argument))
