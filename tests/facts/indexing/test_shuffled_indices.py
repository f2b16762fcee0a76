"""Indices that the host counts off and shuffles in place."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import hot_nodes
from torchperf_lint.facts.indexing.shuffled_indices import shuffles

CODE = """
    import random

    class Net(nn.Module):
        def forward(self, x: torch.Tensor, rng, n: int):
            rows = {made}
            {shuffle}
            return x[{index}]
"""


@pytest.mark.parametrize(
    ("made", "shuffle", "index", "lines"),
    [
        ("np.arange(n)", "np.random.shuffle(rows)", "rows", 1),
        ("np.arange(n)", "np.random.shuffle(rows)", "rows[:4]", 1),
        ("list(range(n))", "random.shuffle(rows)", "rows", 1),
        ("np.arange(n)", "rng.shuffle(rows)", "rows", 0),
        ("range(n)", "random.shuffle(rows)", "rows", 0),
        ("np.arange(2, n)", "np.random.shuffle(rows)", "rows", 0),
        ("np.arange(n)", "np.random.shuffle(x)", "rows", 0),
        ("np.arange(n)", "pass", "rows", 0),
    ],
)
def test_the_calls_that_shuffle_an_index(made, shuffle, index, lines):
    files = texts(CODE.format(made=made, shuffle=shuffle, index=index))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    (spot,) = (s for s in hot_nodes(file, ast.Subscript) if ast.unparse(s.expression).startswith("x["))
    assert len(shuffles(spot, spot.expression.slice)) == lines
