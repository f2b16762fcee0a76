"""Indices that another function made in host memory, and several subscripts use."""

from __future__ import annotations

import ast
from textwrap import indent

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.host_indices import host_indices

CODE = """
    class Matcher(nn.Module):
        def forward(self, scores):
            costs = scores.cpu().numpy()
            return [(torch.as_tensor(np.argmin(c, 0)), torch.as_tensor(np.argmin(c, 1))) for c in costs]

    class Criterion(nn.Module):
        def __init__(self):
            super().__init__()
            self.matcher = Matcher()

        def rows_of(self, pairs):
            rows = torch.cat([i for i, _ in pairs])
            return torch.cat([torch.full_like(i, n) for n, (i, _) in enumerate(pairs)]), rows

        def forward(self, scores: torch.Tensor, boxes: torch.Tensor, each: list[torch.Tensor]):
            scores, boxes = scores.cuda(), boxes.cuda()
            pairs = self.matcher(scores)
            return self.loss(scores, boxes, each, pairs)

        def loss(self, scores, boxes, each: list[torch.Tensor], pairs):
"""


def told(body):
    files = texts(CODE + indent(body, " " * 12))
    found = host_indices(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))
    return [ast.unparse(index.spot.expression) for index in found]


@pytest.mark.parametrize(
    ("body", "indices"),
    [
        ("at = self.rows_of(pairs)\nreturn scores[at] + boxes[at]", ["at", "at"]),
        ("n, rows = self.rows_of(pairs)\nreturn scores[rows] + boxes[rows]", ["rows", "rows"]),
        ("at = self.rows_of(pairs)\nreturn scores[at], [b[j] for b, (_, j) in zip(each, pairs)]", ["at", "j"]),
        ("pairs = self.matcher(scores)\nat = self.rows_of(pairs)\nreturn scores[at] + boxes[at]", ["at", "at"]),
    ],
)
def test_what_a_matcher_found_is_copied_at_each_use(body, indices):
    assert told(body) == indices


@pytest.mark.parametrize(
    "body",
    [
        "at = self.rows_of(pairs)\nreturn scores[at]",  # one use, one copy
        "at = self.rows_of([(i.cuda(), j.cuda()) for i, j in pairs])\nreturn scores[at] + boxes[at]",
        "at = self.rows_of(pairs)\nreturn scores.cpu()[at], boxes.cpu()[at]",
        "at = [i.cuda() for i in self.rows_of(pairs)]\nreturn scores[at] + boxes[at]",
    ],
)
def test_what_is_copied_once_or_moved(body):
    assert told(body) == []
