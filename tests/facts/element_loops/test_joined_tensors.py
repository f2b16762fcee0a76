"""Names of several tensors, which some way through a function joins."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.element_loops.joined_tensors import is_joined
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import hot_nodes

CODE = """
class Net(nn.Module):
    def forward(self, x: torch.Tensor, flat):
        parts = self.heads(x)
        {body}
"""


@pytest.mark.parametrize(
    ("body", "joined"),
    [
        ("return torch.stack(parts, -1) if flat else [p.sum() for p in parts]", True),
        ("whole = torch.cat(parts)\n        return whole, [p.sum() for p in parts]", True),
        ("whole = torch.cat([parts, x])\n        return whole, [p.sum() for p in parts]", False),
        ("parts = torch.cat(parts)\n        return [p.sum() for p in parts]", False),
        ("return [p.sum() for p in parts]", False),
    ],
)
def test_what_is_joined_is_several(body: str, joined: bool):
    files = texts(CODE.format(body=body))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    (spot,) = hot_nodes(file, ast.ListComp)
    assert isinstance(spot.expression, ast.ListComp)
    outline = file.project.body("a.py")
    assert outline is not None
    name = spot.expression.generators[0].iter
    assert is_joined(file, spot, name, outline) is joined
