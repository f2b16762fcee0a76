"""Where positions are among the dimensions of what convolutions gave."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.models.position_dimensions import position_dimension


@pytest.mark.parametrize(
    ("made", "place"),
    [
        ("x.view(b, c, -1)", -1),
        ("x.view(b, c, -1).permute(0, 2, 1)", -2),
        ("x.reshape(b, n, c, h * w)", -1),
        ("x.reshape(b, n, c, h * w).permute(0, 3, 1, 2)", -3),
        ("x.reshape(b, n, c, h * w).permute((0, 3, 1, 2)).transpose(1, 2)", -2),
        ("x.reshape(b, n, c, h * w).permute(0, 3, 1, 2).transpose(1, 2).transpose(-2, -1) * 2", -1),
        ("x.reshape((b, n, c, h * w)).contiguous().transpose(0, 1)", -1),
        ("x.reshape(b, n, c, h * w).permute(order)", None),
        ("x.reshape(b, h, w, c)", None),
        ("torch.transpose(x.view(b, c, -1), 1, 2)", None),
        ("self.q(x)", None),
    ],
)
def test_positions_are_followed_through_what_is_transposed(made, place):
    files = texts(f"def run(self, x, b, n, c, h, w, order):\n    y = {made}\n    return y\n")
    body = Project.of_texts(files).body("a.py")
    assert body is not None
    node = next(n.value for n in ast.walk(body.functions[1]) if isinstance(n, ast.Return))
    assert position_dimension(body, 1, node, body.at(node)) == place
