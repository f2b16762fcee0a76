"""TPL653."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import cast

from torchperf_lint.confirming import unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.models.per_sample import PerSample, per_sample_calls
from torchperf_lint.model import Finding, Severity, Verdict
from torchperf_lint.rule import SourceRule


class PerSampleModelCall(SourceRule):
    """A module is called for the rows of one tensor, one after the other.

    ## What it does
    Flags calls of a module with `x[i : i + 1]`, `x[i].unsqueeze(0)` or `row[None]` in a loop over the rows of a
    tensor, in hot code: the rows have one shape, for they are those of one tensor, so that one call takes them all.
    Every other argument has to be a row as well, or the same in each turn. Loops whose turns need the turn before, that
    may stop early, call the module for some of the rows, take a gradient for each, or say that they spare memory, are
    not reported, nor are chunks of more than one row.

    ## Why it is slow
    Each call starts all kernels of the module for one sample: most are too small to fill the device, and the launches
    are paid for every sample.

    ## Example
    ```python
    import torch
    from torch import nn

    @torch.no_grad()
    def evaluate(model: nn.Module, loader, device):
        found = []
        for x, _ in loader:
            x = x.to(device, non_blocking=True)
            for i in range(x.shape[0]):
                found.append(model(x[i : i + 1]))
        return torch.cat(found)
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    @torch.no_grad()
    def evaluate(model: nn.Module, loader, device):
        found = []
        for x, _ in loader:
            found.append(model(x.to(device, non_blocking=True)))
        return torch.cat(found)
    ```
    Where all at once do not fit, several at once do: `for part in x.split(32): model(part)`.

    ## When it is fine
    Where one sample fills the device already, and where a module in training mode must not see the others, as batch
    normalisation would. Chunks are not reported:
    ```python
    import torch
    from torch import nn

    @torch.no_grad()
    def embed(model: nn.Module, x: torch.Tensor):
        return torch.cat([model(part) for part in x.cuda().split(64)])
    ```

    ## Fix safety
    There is no automatic fix: what the turns do with the result has to be written for all rows.

    ## Confirmed by
    Nothing yet: no probe counts kernels.

    ## References
    - PyTorch performance tuning guide: larger batches use the device better.
    - PyTorch documentation of `torch.Tensor.split`.
    """

    code, name, since = "TPL653", "per-sample-model-call", "0.1.0"
    severity = Severity.INFO
    triggers = (".unsqueeze(", "[None", "1]", "1,")
    about_waits = True

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each module called row by row."""
        del project
        for found in per_sample_calls(file):
            yield self._found(file, found)

    def _found(self, file: SourceFile, found: PerSample) -> Finding:
        spot, whole = found.call, file.brief(found.rows)
        called = file.brief(cast("ast.Call", spot.expression).func)
        head = found.loop if isinstance(found.loop, ast.For) else found.loop.generators[0]
        return self.found(
            spot,
            message=f"`{called}` gets one row of `{whole}` a turn of the loop on line {head.target.lineno}, "
            f"{spot.hot.when}: batches of one",
            instead=f"call it once for all rows, `{called}({whole})`, or for several at once (`{whole}.split(32)`)",
            value=found.value,
            hot=spot.hot,
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """No probe counts kernels."""
        return unmeasured(run, finding.location, "no probe counts kernels")
