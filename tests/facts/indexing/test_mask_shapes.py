"""How many dimensions a mask lacks, and whether it leaves out what is NaN."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.mask_shapes import missing_dimensions, tells_nans
from torchperf_lint.facts.indexing.selections import selections


def selected(mask, index="mask"):
    files = texts(f"""
    class Net(nn.Module):
        def forward(self, x: torch.Tensor, known: torch.Tensor):
            x, known = x.cuda(), known.cuda() > 0
            wide = torch.zeros(8, 4, device="cuda")
            rows = torch.zeros(8, device="cuda")
            mask = {mask}
            return x[{index}]
    """)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    return next(iter(selections(file)))


@pytest.mark.parametrize(
    ("mask", "index", "expected"),
    [
        ("x > 0", "mask", 0),
        ("~torch.isnan(x)", "mask", 0),
        ("(x > 0).any(-1)", "mask", 1),
        ("torch.all(x > 0, dim=1)", "mask", 1),
        ("(x > 0).any(-1, keepdim=True)", "mask", None),
        ("(x > 0).any(0)", "mask", None),
        ("known", "mask", None),
        ("known", ":, mask", 0),
    ],
)
def test_dimensions_that_a_mask_lacks(mask, index, expected):
    assert missing_dimensions(selected(mask, index)) == expected


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        ("~x.isnan()", True),
        ("torch.isfinite(x) & known", True),
        ("x == x", True),
        ("x > 0", False),
        ("known", False),
    ],
)
def test_masks_of_nans(mask, expected):
    assert tells_nans(selected(mask)) is expected
