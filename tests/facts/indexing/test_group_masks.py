"""Masks of one sample among rows that lie together, and masks that can only be full."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.group_masks import is_by_group, is_full
from torchperf_lint.facts.indexing.selections import DISTINCT, selections

SELECT = """\
class Select(nn.Module):
    def forward(self, points: torch.Tensor, index: torch.Tensor, batch_size: int, levels: int):
        points, index, kept = points.cuda(), index.cuda(), []
        batch, kinds = index + 1, index * 2
        for b in {over}:
            own = index == b
            kept.append({taken})
        return kept
"""


@pytest.mark.parametrize(
    ("over", "taken", "by_group", "full"),
    [
        ("range(batch_size)", "points[own]", True, False),
        ("range(batch_size)", "points[index == b]", True, False),
        ("range(levels)", "points[own]", False, False),
        ("batch.unique()", "points[batch == b]", True, False),
        ("torch.unique(batch)", "points[batch == b]", True, False),
        ("kinds.unique()", "points[kinds == b]", False, False),
        ("batch.unique()", "points[own]", False, False),
        ("points.unique()", "points[own]", False, False),
        ("batch.unique()", "points[batch != b]", False, False),
        ("range(batch_size)", "points[index > b]", False, False),
        ("range(levels)", "points[index >= 0, index]", False, True),
        ("range(levels)", "points[index >= 0, b]", False, False),
    ],
)
def test_a_mask_of_one_sample(over, taken, by_group, full):
    files = texts(SELECT.format(over=over, taken=taken))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    (found,) = [selection for selection in selections(file) if selection.form != DISTINCT]
    assert (is_by_group(found), is_full(found)) == (by_group, full)
