"""Types of tensors as text, and whose they are."""

from __future__ import annotations

import ast

import pytest
from calls_in import site_of

from torchperf_lint.facts.devices.tensor_types import type_of_tensor

GIVEN = """
    import torch

    class Loss(torch.nn.Module):
        def forward(self, x: torch.Tensor):
            return self.run({given})

        def run(self, {parameters}):
            return torch.zeros(3).type(kind)
"""


@pytest.mark.parametrize(
    ("parameters", "given", "found"),
    [
        ("part, kind", "x, x.type()", True),
        ("part, kind", "x, kind=x.type()", True),
        ("part, kind", "x, name", False),
        ("*parts, kind", "x, kind=x.type()", True),
        ("*parts, kind='torch.FloatTensor'", "x.type()", False),
    ],
)
def test_a_parameter_that_every_caller_gives_the_type_of_a_tensor(parameters, given, found):
    site = site_of(GIVEN.format(parameters=parameters, given=given), "torch.zeros(3).type(kind)")
    named = type_of_tensor(site.file.project.values, ast.parse("kind", mode="eval").body, site.frame)
    assert (named is not None) is found
