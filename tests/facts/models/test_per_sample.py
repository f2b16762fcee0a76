"""Modules that a loop calls for the rows of one tensor."""

from __future__ import annotations

from textwrap import indent

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.models.per_sample import per_sample_calls

HEAD = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net, self.cell = nn.Linear(4, 4), nn.LSTMCell(4, 4)

    def forward(self, x: torch.Tensor, y: torch.Tensor, sizes: list[int], images: list[torch.Tensor], scale: float):
        out = []
"""


def called(code):
    """The tensors of which modules get one row a turn, as written."""
    files = texts(HEAD + indent(code, " " * 8) + "\n        return out\n")
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    return [file.brief(found.rows) for found in per_sample_calls(file)]


@pytest.mark.parametrize(
    "code",
    [
        "for i in range(len(x)):\n    out.append(self.net(x[i : i + 1]))",
        "for row in x:\n    out.append(self.net(row[None], scale))",
        "out = [self.net(a[None], b[None]) for a, b in zip(x, y)]",
        "for i in range(len(x)):\n    if scale > 1:\n        out.append(i)\n    out.append(self.net(x[i][None]))",
    ],
)
def test_all_rows_at_once(code):
    assert called(code) == ["x"]


@pytest.mark.parametrize(
    "code",
    [
        "for row in images:\n    out.append(self.net(row[None]))",
        "for i in range(len(x)):\n    out.append(self.net(x[i : i + 1], sizes[i]))",
        "for i in range(len(x)):\n    out.append(self.net(x[i : i + 1], cache=y))",
        "for i in range(len(x)):\n    y = self.cell(x[i : i + 1], y)",
        "for i in range(len(x)):\n    y = self.net(x[i : i + 1] + y)",
        "for i in range(6):\n    out.append(self.net(x[i : i + 1]))",
        "for i in range(self.shown):\n    out.append(self.net(x[i : i + 1]))",
        "for i in range(len(x)):\n    if sizes[i]:\n        out.append(self.net(x[i : i + 1]))",
        "for row in x:\n    out.append(self.net(row[None]))\n    if len(out) > 3:\n        break",
        "for t in range(len(x)):\n    out.append(self.net(x[t][None]))",
        "out = [self.net(row[None]) for row in x if row is not y]",
        "for row in x:  # one by one: memory\n    out.append(self.net(row[None]))",
    ],
)
def test_one_by_one(code):
    assert called(code) == []
