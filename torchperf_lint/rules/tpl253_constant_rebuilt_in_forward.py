"""TPL253."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.constants.configured import GIVEN, SHAPE
from torchperf_lint.facts.constants.constant_tables import Table, constant_tables
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.model import Confidence, Finding, Severity, Verdict
from torchperf_lint.rule import SourceRule

_VARY = {SHAPE: "shapes", GIVEN: "arguments"}
"""What a table depends on that a step may change."""


class ConstantRebuiltInForward(SourceRule):
    """A table that depends on nothing but settings or shapes, computed anew on the device in every forward pass.

    ## What it does
    Flags names that code of every step or forward pass binds to a tensor on the device, computed by three operations
    or more from factories (`arange`, `ones`, `linspace`) and numbers that no step changes. Off by default, and info:
    the kernels are small, and where a graph is compiled they are fused. What is made on the host and then moved is the
    matter of TPL251 and TPL252.

    ## Why it is slow
    Each operation allocates its result and launches a kernel of its own, for numbers that are the same every time. A
    small model launches more kernels for its tables than for its layers.

    ## Example
    ```python
    import math

    import torch
    from torch import nn

    class Embedding(nn.Module):
        def __init__(self, half: int = 64):
            super().__init__()
            self.half = half

        def forward(self, t: torch.Tensor):
            freqs = torch.exp(-math.log(10000.0) * torch.arange(self.half, device=t.device) / self.half)
            return (t[:, None] * freqs[None]).cos()
    ```

    ## Use instead
    ```python
    import math

    import torch
    from torch import nn

    class Embedding(nn.Module):
        def __init__(self, half: int = 64):
            super().__init__()
            freqs = torch.exp(-math.log(10000.0) * torch.arange(half) / half)
            self.register_buffer("freqs", freqs, persistent=False)

        def forward(self, t: torch.Tensor):
            return (t[:, None] * self.freqs[None]).cos()
    ```

    ## When it is fine
    Where one factory is all there is, where the model is compiled, and where every input has another shape:
    ```python
    import torch
    from torch import nn

    class Positions(nn.Module):
        def forward(self, x: torch.Tensor):
            return x + torch.arange(x.shape[1], device=x.device)
    ```

    ## Fix safety
    There is no automatic fix: a buffer adds a name to the module, and a cache by shape takes memory.

    ## Confirmed by
    Nothing yet: no probe counts the kernels of a line.

    ## References
    - PyTorch documentation of `torch.nn.Module.register_buffer`, `persistent`.
    """

    code, name, since = "TPL253", "constant-rebuilt-in-forward", "0.1.0"
    severity = Severity.INFO
    default = False
    triggers = ("torch.arange(", "torch.ones(", "torch.zeros(", "torch.linspace(", "torch.full(", "torch.eye(")
    about_waits = True

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each table that hot code computes anew."""
        del project
        for table in constant_tables(file):
            yield self._found(file, table)

    def _found(self, file: SourceFile, table: Table) -> Finding:
        hot, statement = table.spot.hot, table.spot.expression
        assert isinstance(statement, ast.Assign)
        shaped = table.kind in _VARY
        depends = _VARY.get(table.kind, "what was set before the first step")
        keep = f"keep it as long as the {depends} are the same" if shaped else "make it once, and hold it as a buffer"
        more = (
            ""
            if shaped
            else f', `self.register_buffer("{table.name}", ..., persistent=False)`, and read `self.{table.name}`'
        )
        return self.found(
            table.spot,
            message=f"`{file.brief(statement)}` depends on nothing but {depends}, and is computed by {table.kernels} "
            f"operations {hot.when}",
            instead=keep + more,
            value=table.value.weaker(Confidence.LIKELY),
            hot=hot,
            root_cause=f"{self.code} in function {table.spot.function}",
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """No probe counts the kernels of a line."""
        return unmeasured(run, finding.location, "no probe counts the kernels of a line")
