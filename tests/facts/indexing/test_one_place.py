"""Indices that are one number on the device."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import hot_nodes
from torchperf_lint.facts.indexing.one_place import is_shown_to_be_one, picks_by_one

CODE = """
    class Net(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor, n: int, table: dict):
            x, y = x.cuda(), y.cuda()
            rows, columns = x.shape
            best, flags = x.argmax(), x.sum() == 0
            there = y.any()
            layers = [self.first, self.second]
            return {picked}
"""


def asked(picked):
    files = texts(CODE.format(picked=picked))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    spot = next(s for s in hot_nodes(file, ast.Subscript) if s.start[0] > 9)
    parts = spot.expression.slice.elts if isinstance(spot.expression.slice, ast.Tuple) else [spot.expression.slice]
    index = next(part for part in parts if not isinstance(part, ast.Slice))
    return is_shown_to_be_one(file, spot, index), picks_by_one(file, spot, spot.expression, index)


@pytest.mark.parametrize(
    ("picked", "one", "picks"),
    [
        ("x[best]", True, True),
        ("y[:, best + 1]", True, True),
        ("x[x.sum(1).max(0)[1]]", True, True),
        ("layers[best]", True, False),
        ("table[best]", False, False),
        ('x[best], f"{best}"', True, False),
        ("x[best], int(best)", True, False),
        ("x[best], best.item()", True, False),
        ("x[best.view(1)]", False, False),
        ("x[x.argmax(1)]", False, False),
        ("x[y.argmax(1)]", False, False),
        ("x[n]", False, False),
        ("x[flags]", False, False),
        ("x[there]", False, False),
        ("x[x.sum() > 0]", False, False),
        ("x.cpu()[best]", True, False),
        ("x[x.shape[0] - 1]", False, False),
    ],
)
def test_a_tensor_without_dimensions_picks(picked, one, picks):
    assert asked(picked) == (one, picks)
