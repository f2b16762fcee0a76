"""What is selected from, and where that lies."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.selections import base_beside, base_of, selections

CODE = """
    class Net(nn.Module):
        def forward(self, x: torch.Tensor, y, z, mask):
            x, other = self.layer(x).cuda(), ~mask
            {code}

    def train(model, data, optimizer):
        for batch, mask in DataLoader(data):
            batch, mask = batch.cuda(), mask.to(torch.bool).cuda()
            optimizer.zero_grad()
            picked = batch[mask]
            model(picked).backward()
            optimizer.step()
"""


def found(code):
    files = texts(CODE.format(code=code))
    return list(selections(SourceFile(Project.of_texts(files), "a.py", files["a.py"])))


@pytest.mark.parametrize(
    ("code", "alone", "beside"),
    [
        ("a, b = x[mask], y[mask]", ["x"], ["x", "y"]),
        ("a, b = x[mask], z[x > 0]", ["x", "z"], ["x", "z"]),
        ("a, b = x[mask], y.cpu()[mask]", ["x"], ["x"]),
        ("a, b = x[mask], y.numpy()[mask]", ["x"], ["x"]),
        ("a, b = x[mask], y[other]", ["x"], ["x"]),
    ],
)
def test_what_one_mask_selects_from_lies_together(code, alone, beside):
    all_of = [s for s in found(code) if ast.unparse(s.base) != "batch"]
    assert [ast.unparse(s.base) for s in all_of if base_of(s) is not None] == alone
    assert [ast.unparse(s.base) for s in all_of if base_beside(s, all_of) is not None] == beside


def test_a_batch_that_is_indexed_by_a_tensor_is_one():
    (of_batch,) = [s for s in found("pass") if ast.unparse(s.base) == "batch"]
    value = base_of(of_batch)
    assert value is not None and value.kind == "tensor"
