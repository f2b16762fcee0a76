"""Which arguments of torch's functions read a tensor of the device."""

from __future__ import annotations

import pytest
from snippets import IMPORTS

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.scalar_arguments import scalars

MODULE = """
class M(nn.Module):
    def __init__(self, limit: float):
        super().__init__()
        self.net = nn.Linear(8, 8)
        self.limit = limit

    def forward(self, x: torch.Tensor, mask: torch.Tensor, given):
        y = self.net(x.to("cuda"))
        t = y.mean()
        return {call}
"""


def _parameters(call: str) -> list[str]:
    text = IMPORTS + MODULE.replace("{call}", call)
    file = SourceFile(Project.of_texts({"m.py": text}), "m.py", text)
    return [found.parameter for found in scalars(file)]


@pytest.mark.parametrize(
    ("call", "parameters"),
    [
        ("y.add_(y, alpha=t)", ["alpha"]),
        ("torch.sub(y, y, alpha=-t * 2)", ["alpha"]),
        ("torch.addmm(y, y, y, beta=t, alpha=t)", ["alpha", "beta"]),
        ("y.addcdiv(y, y, value=t)", ["value"]),
        ("torch.full((3,), t)", ["fill_value"]),
        ("torch.full_like(y, t)", ["fill_value"]),
        ("y.new_full((3,), t)", ["fill_value"]),
        ("y.masked_fill(mask, t)", ["value"]),
        ("torch.masked_fill(y, mask, t)", ["value"]),
        ("y.clamp(0, t)", ["max"]),
        ("torch.clamp(y, t, max=-1.0)", ["min"]),
        ("nn.functional.leaky_relu(y, t)", ["negative_slope"]),
        ("y.nan_to_num(0.0, t)", ["posinf"]),
        ("torch.normal(0.0, t, size=y.shape, device=y.device)", ["std"]),
        ("torch.normal(t, t, y.shape)", ["mean", "std"]),
        ("torch.normal(mean=t, std=1.0, size=y.shape)", ["mean"]),
    ],
)
def test_what_is_read(call: str, parameters: list[str]) -> None:
    assert _parameters(call) == parameters


@pytest.mark.parametrize(
    "call",
    [
        "y.add_(y, alpha=0.5)",
        "y.add_(y, alpha=self.limit)",
        "y.add(t)",
        "torch.full(y.shape, 0.0)",
        "torch.normal(0.0, self.limit, y.shape)",
        "torch.normal(t, y.exp())",
        "torch.full(t.shape, self.limit)",
        "y.masked_fill(mask, -1)",
        "y.clamp(max=t)",
        "y.clamp(t, t)",
        "y.clamp(None, t)",
        "y.clamp(0, self.limit)",
        "y.fill_(t)",
        "y.lerp(y, weight=t)",
        "y.pow(t)",
        "torch.where(mask, t, y)",
        "given.add(t, alpha=t)",
        "leaky_relu(y, t)",
    ],
)
def test_what_is_not(call: str) -> None:
    assert _parameters(call) == []
