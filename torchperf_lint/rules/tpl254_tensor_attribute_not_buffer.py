"""TPL254."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import by_events, copies
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.constants.fallbacks import is_fallback
from torchperf_lint.facts.copies.computed import computed_left_behind
from torchperf_lint.facts.copies.left_behind import LeftBehind, left_behind
from torchperf_lint.facts.devices.devices import moves_to_device
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.model import Confidence, Finding, Severity, Verdict
from torchperf_lint.rule import SourceRule


class TensorAttributeNotBuffer(SourceRule):
    """A tensor that a module keeps as a plain attribute, moved to the device in every forward pass.

    ## What it does
    Flags `self.table.to(x.device)` and its like in the hot methods of an `nn.Module` whose `self.table` is set to a
    tensor on the host, or to a dict or list of them, and is neither a buffer nor a parameter.

    ## Why it is slow
    `module.to(device)` moves parameters and buffers only. A plain attribute stays on the host, so every forward pass
    copies it anew, from pageable memory, and waits for the copy.

    ## Example
    ```python
    import torch
    from torch import nn

    class Positions(nn.Module):
        def __init__(self, length: int, width: int):
            super().__init__()
            self.table = torch.zeros(length, width).normal_()

        def forward(self, x: torch.Tensor):
            return x + self.table.to(x.device)[: x.size(1)]
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    class Positions(nn.Module):
        def __init__(self, length: int, width: int):
            super().__init__()
            self.register_buffer("table", torch.zeros(length, width).normal_(), persistent=False)

        def forward(self, x: torch.Tensor):
            return x + self.table[: x.size(1)]
    ```

    ## When it is fine
    On buffers and parameters, where `.to(x.device)` finds the tensor there already; and where the module keeps what
    it moved:
    ```python
    import torch
    from torch import nn

    class Kept(nn.Module):
        def __init__(self, length: int):
            super().__init__()
            self.register_buffer("scale", torch.ones(length))
            self.table = torch.arange(length)

        def forward(self, x: torch.Tensor):
            self.table = self.table.to(x.device)
            return x * self.scale.to(x.device) + self.table
    ```

    ## Fix safety
    There is no automatic fix yet: a buffer adds a key to the `state_dict` unless it is made with `persistent=False`.

    ## Confirmed by
    A copy to the device at the line in at least half of the recorded steps.

    ## References
    - PyTorch, `torch.nn.Module.register_buffer`.
    - PyTorch Lightning, "Hardware agnostic training": register tensors as buffers.
    """

    code, name, since = "TPL254", "tensor-attribute-not-buffer", "0.1.0"
    triggers = (".to(", ".cuda(", ".type_as(")
    probes = ("transfers",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot move of a tensor that the module could hold as a buffer."""
        for site in file.hot_calls("to", "cuda", "type_as"):
            if site.receiver is None or site.hot is None or site.hot.kind == "data":
                continue
            held = left_behind(project.values, site.receiver, site.frame)
            held = held if held is not None else computed_left_behind(project.values, site.call, site.frame)
            if held is None or not held.in_module or not moves_to_device(project.values, site.call, site.frame):
                continue
            if is_fallback(site):
                continue
            yield self.found(
                site,
                message=f"`{file.brief(site.call)}` copies a tensor that stayed on the host {site.hot.when}",
                instead=_instead(held),
                value=held.value.weaker(Confidence.POSSIBLE if site.hot.optional else Confidence.CERTAIN),
                hot=site.hot,
                severity=Severity.INFO if site.hot.kind == "eval" or site.hot.optional else None,
                related=[file.related(held.path, held.line, 1, f"`self.{held.name}` is set to a tensor on the host")],
                root_cause=f"attribute {held.name} set at {held.path}:{held.line}",
            )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By copies to the device at the line."""
        seen = copies(run, finding, "h2d", lambda copy: True)
        return by_events(finding, run, seen, "copy to the device", probes=self.probes)


def _instead(held: LeftBehind) -> str:
    if held.several:
        return (
            "hold each as a buffer, which follows the module: `self.register_buffer(name, ..., persistent=False)`, or "
            f"put the moved one back into `self.{held.name}`"
        )
    return (
        f'hold it as a buffer, which follows the module: `self.register_buffer("{held.name}", ..., persistent=False)`'
    )
