"""Parameters annotated as numbers to which callers hand tensors."""

from __future__ import annotations

import pytest
from snippets import value_of

CODE = """
from typing import Optional

class Sampler(nn.Module):
    def scale(self, sigma: {annotation}):
        return sigma

    def forward(self, x: torch.Tensor, sigmas: torch.Tensor, other):
        y = self.scale({first})
        return y + self.scale({second})
"""


@pytest.mark.parametrize(
    ("annotation", "first", "second", "kind"),
    [
        ("float", "sigmas[0]", "sigmas[1] * 2", "tensor"),
        ("Optional[float]", "sigmas[0]", "sigma=sigmas[1]", "tensor"),
        ("float", "sigmas[0]", "0.5", "plain"),
        ("float", "sigmas[0]", "other", "plain"),
        ("float", "sigmas[0]", "sigmas[1].item()", "plain"),
        ("float", "sigmas[0]", "*other", "plain"),
        ("Optional[float] = None", "sigmas[0]", "", "plain"),
        ("str", "sigmas[0]", "sigmas[1]", "plain"),
    ],
)
def test_what_all_callers_hand_over(annotation: str, first: str, second: str, kind: str):
    code = CODE.format(annotation=annotation, first=first, second=second)
    assert value_of(code, "sigma").kind == kind


def test_nobody_calls_it():
    assert value_of("def scale(sigma: float):\n    return sigma\n", "sigma").kind == "plain"

