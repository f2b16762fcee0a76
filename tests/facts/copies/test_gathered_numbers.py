"""Tensors of one number that are gathered in a list and made one tensor of."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.copies.gathered_numbers import gathered_numbers
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

CODE = """
class Net(nn.Module):
    def forward(self, x: torch.Tensor):
        return {made}
"""


@pytest.mark.parametrize(
    ("made", "read"),
    [
        ("torch.tensor([t.sum() for t in x])", ["t.sum()"]),
        ("torch.as_tensor([t.sum() for t in x], device=x.device)", ["t.sum()"]),
        ("torch.stack([t.sum() for t in x])", []),
        ("[t.sum() for t in x]", []),
        ("torch.tensor(data=[t.sum() for t in x])", []),
        ("torch.tensor(max([t.sum() for t in x]))", []),
    ],
)
def test_what_is_gathered(made: str, read: list[str]):
    files = texts(CODE.format(made=made))
    found = gathered_numbers(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))
    assert [ast.unparse(operand) for _, operand in found] == read
