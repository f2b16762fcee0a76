"""Loops that select from one row of a tensor after the other, each by its own part of a mask."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.row_masks import is_by_row
from torchperf_lint.facts.indexing.selections import selections

CODE = """
    class Net(nn.Module):
        def forward(self, x: torch.Tensor, levels: torch.Tensor, known):
            x, levels = x.cuda(), levels.cuda()
            {code}
"""


def by_row(code):
    files = texts(CODE.format(code=code.replace("\n", "\n            ")))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    return [is_by_row(selection) for selection in selections(file)]


@pytest.mark.parametrize(
    "code",
    [
        "b, n = x.shape[:2]\nfor i in range(b):\n    rows = (levels[i] == n).nonzero()\n    self.use(x[i, rows])",
        "b, *rest = x.size()[:3]\nfor i in range(b):\n    rows = levels[i].nonzero().flatten()\n    self.use(rows)",
        "for i in range(len(x)):\n    self.use(x[i][levels[i] > 0])",
    ],
)
def test_rows_one_after_the_other(code):
    assert by_row(code) == [True]


@pytest.mark.parametrize(
    "code",
    [
        "b, n = known[:2]\nfor i in range(b):\n    self.use((levels[i] == n).nonzero())",
        "b, n = x.shape[:2]\nfor i in range(b):\n    levels = self.use(levels)\n    self.use(levels[i].nonzero())",
        "b, n = x.shape[:2]\nfor head in range(b):\n    self.use((levels[head] > 0).nonzero())",
        "self.use((levels > 0).nonzero())",
    ],
)
def test_other_selections(code):
    assert by_row(code) == [False]
