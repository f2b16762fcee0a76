"""Masks of one sample among rows that lie together, and masks that can only be full."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.group_masks import is_by_group, is_full
from torchperf_lint.facts.project import Project
from torchperf_lint.facts.selections import selections
from torchperf_lint.facts.source import SourceFile

SELECT = """\
class Select(nn.Module):
    def forward(self, points: torch.Tensor, index: torch.Tensor, batch_size: int, levels: int):
        points, index, kept = points.cuda(), index.cuda(), []
        for b in range({over}):
            own = index == b
            kept.append({taken})
        return kept
"""


@pytest.mark.parametrize(
    ("over", "taken", "by_group", "full"),
    [
        ("batch_size", "points[own]", True, False),
        ("batch_size", "points[index == b]", True, False),
        ("levels", "points[own]", False, False),
        ("batch_size", "points[index > b]", False, False),
        ("levels", "points[index >= 0, index]", False, True),
        ("levels", "points[index >= 0, b]", False, False),
    ],
)
def test_a_mask_of_one_sample(over, taken, by_group, full):
    files = texts(SELECT.format(over=over, taken=taken))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    (found,) = selections(file)
    assert (is_by_group(found), is_full(found)) == (by_group, full)
