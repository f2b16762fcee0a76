"""TPL652."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.element_loops.growth import JOINS, Growth, growth_of
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.values.value import Value
from torchperf_lint.model import Confidence, Finding, Severity
from torchperf_lint.rule import SourceRule


class CatInLoop(SourceRule):
    """A tensor made longer turn by turn: `x = torch.cat([x, y])`.

    ## What it does
    Flags `torch.cat`, `stack` and their like (also numpy's) whose result replaces one of their operands, in a loop
    that runs in hot code, or in a function that runs every step where the operand is an attribute; and joins of a
    whole list that the same loop makes longer. An entry of a list that an inner loop goes through, `kept[i] =
    torch.cat([kept[i], y[i]])`, grows over the turns of the loop around that one. In evaluation it is reported as
    info. Where each turn reads the whole, as when tokens are appended one by one, it is only `possible`.

    ## Why it is slow
    Every turn allocates a new tensor and copies all that was there before: n turns copy n²/2 parts. Appending to a
    list costs nothing, and one join at the end copies each part once.

    ## Example
    ```python
    import torch
    from torch import nn

    @torch.no_grad()
    def predict(model: nn.Module, loader, device):
        outputs = torch.empty(0, device=device)
        for x, _ in loader:
            outputs = torch.cat([outputs, model(x.to(device, non_blocking=True))])
        return outputs
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    @torch.no_grad()
    def predict(model: nn.Module, loader, device):
        outputs = []
        for x, _ in loader:
            outputs.append(model(x.to(device, non_blocking=True)))
        return torch.cat(outputs)
    ```

    ## When it is fine
    Features joined once a turn, a buffer of fixed length, a handful of turns:
    ```python
    import torch
    from torch import nn

    class Pyramid(nn.Module):
        def __init__(self, layers):
            super().__init__()
            self.layers = nn.ModuleList(layers)

        def forward(self, x):
            for layer in self.layers:
                x = torch.cat([x, layer(x)], dim=1)
            return x
    ```

    ## Fix safety
    There is no automatic fix yet. A list and one join give the same values; the parts live until the join.

    ## Confirmed by
    Nothing yet: no probe watches copies within the device.

    ## References
    - PyTorch documentation of `torch.cat`.
    - Measured on a CPU: 1,000 joins of 1,000 rows took 422 ms, a list and one join 3 ms.
    """

    code, name, since = "TPL652", "cat-in-loop", "0.1.0"
    triggers = ("cat(", "concat(", "concatenate(", "stack(", "np.append(", "numpy.append(")

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot join that replaces what it joins."""
        del project
        for site in file.calls_of(*JOINS):
            if site.hot is None or site.hot.kind == "data":
                continue
            growth = growth_of(file, site)
            if growth is not None:
                yield self._found(file, site, growth)

    def _found(self, file: SourceFile, site: Site, growth: Growth) -> Finding:
        assert site.hot is not None
        called = file.brief(site.call.func)
        doubtful = growth.needed or site.hot.optional
        mild = doubtful or site.hot.kind == "eval"
        return self.found(
            site,
            message=f"`{called}` copies all of `{growth.target}` again {_when(site, growth)}: "
            "the work grows with the square of the turns",
            instead=_instead(called, growth),
            value=_value(file, site, growth),
            hot=site.hot,
            severity=Severity.INFO if mild else None,
            confidence=Confidence.POSSIBLE if doubtful else None,
        )


def _value(file: SourceFile, site: Site, growth: Growth) -> Value:
    """What is joined: the new part says more about it than what it is added to."""
    joined = site.call.args[0]
    parts = joined.elts if isinstance(joined, ast.List | ast.Tuple) else site.call.args[1:] or [joined]
    values = [file.value(part, site) for part in parts if ast.unparse(part) != growth.target]
    made = file.value(site.call, site).with_reason(f"made by `{file.brief(site.call.func)}`")
    # What is only tested to be a tensor says less than the join, which makes one.
    told = (value for value in values if value.kind == "tensor" and value.confidence is not Confidence.POSSIBLE)
    return next(told, made)


def _when(site: Site, growth: Growth) -> str:
    assert site.hot is not None
    if growth.loop is None or growth.loop.lineno == site.hot.line:
        return site.hot.when
    head = "while" if isinstance(growth.loop, ast.While) else "for"
    return f"in each turn of the `{head}` on line {growth.loop.lineno}, {site.hot.when}"


def _instead(called: str, growth: Growth) -> str:
    if growth.listed:
        return f"call `{called}` once, after the loop; or keep a running result of what the turn needs"
    if growth.needed:
        return "write into a tensor of full length allocated before (`buffer[i] = ...`), and read `buffer[:i + 1]`"
    where = "when the whole is asked for" if growth.loop is None else "after the loop"
    # `np.append` takes two arrays, no list of them.
    joins = f"{called.removesuffix('append')}concatenate" if called.endswith(".append") else called
    return f"append the new part to a list, and call `{joins}` once {where}"
