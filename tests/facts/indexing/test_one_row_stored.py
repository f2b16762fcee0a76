"""One constant row that goes to all places of a mask."""

from __future__ import annotations

import ast

import pytest

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.one_row_stored import is_one_row
from torchperf_lint.facts.indexing.selections import Selection, selections

NET = """
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x: torch.Tensor, n: int):
        found = torch.softmax(x, -1)
        mask = found.sum(-1) > 0.5
        width = x.shape[-1]
        found[mask] = {value}
        return found
"""


def is_row(value: str) -> bool:
    text = NET.format(value=value)
    file = SourceFile(Project.of_texts({"a.py": text}), "a.py", text)
    (selection,) = selections(file)
    return is_one_row(selection, _stored(file, selection))


def _stored(file: SourceFile, selection: Selection) -> ast.expr:
    statement = file.enclosing(selection.spot.function).statement(selection.spot.expression)
    assert isinstance(statement, ast.Assign)
    return statement.value


@pytest.mark.parametrize(
    ("value", "row"),
    [
        ("torch.ones(4).type_as(x)", True),
        ("torch.zeros(self.width, device=x.device)", True),
        ("torch.full((width,), 0.5).to(x)", True),
        ("x.new_zeros(x.shape[-1])", True),
        ("torch.ones(n, device=x.device)", False),
        ("torch.ones(x.shape[0], device=x.device)", False),
        ("torch.ones(4, 4, device=x.device)", False),
        ("torch.rand(4, device=x.device)", False),
    ],
)
def test_a_row_whose_length_has_nothing_to_do_with_the_mask(value, row):
    assert is_row(value) is row
