"""Which draws from a distribution come to be on the host."""

from __future__ import annotations

import ast

import pytest
from snippets import IMPORTS

from torchperf_lint.facts.devices.distributions import drawn_on_host
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.values.value import Frame

MODULE = """
from torch.distributions import Beta, Normal

class M(nn.Module):
    def __init__(self, alpha: float):
        super().__init__()
        self.beta = Beta(alpha, alpha)
        self.twice = Beta(alpha, alpha)
        self.twice = Beta(1.0, alpha)

    def forward(self, x: torch.Tensor, alpha: float):
        local = Beta(alpha, 1.0)
        given = Normal(x, 1.0)
        return {drawn}
"""


@pytest.mark.parametrize(
    ("drawn", "made"),
    [
        ("Beta(1.0, 1.0).sample()", "distributions.Beta(...).sample"),
        ("Beta(alpha, torch.tensor(alpha)).rsample((3,))", "distributions.Beta(...).rsample"),
        ("self.beta.sample()", "distributions.Beta(...).sample"),
        ("local.sample()", "distributions.Beta(...).sample"),
        ("given.sample()", None),
        ("self.twice.sample()", None),
        ("Beta(torch.ones_like(x), 1.0).sample()", None),
        ("Beta(alpha, torch.tensor(alpha, device=x.device)).sample()", None),
        ("local.log_prob(x)", None),
        ("alpha.sample()", None),
    ],
)
def test_what_is_drawn_from_numbers_is_on_the_host(drawn, made):
    text = IMPORTS + MODULE.format(drawn=drawn)
    project = Project.of_texts({"a.py": text})
    node = next(n.value for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Return))
    index = next(i for i, r in enumerate(project.index.outlines["a.py"].functions) if r.name == "forward")
    place = project.body("a.py").at(node)
    assert drawn_on_host(project.values, node, Frame("a.py", index, place)) == made
