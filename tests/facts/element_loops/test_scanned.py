"""Loops that walk along a tensor, an entry a turn, until one passes a test."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.consequences import DECIDES, SCANNED, consequence
from torchperf_lint.facts.reads.truths import truths


@pytest.mark.parametrize(
    ("test", "turn", "expected"),
    [
        ("boxes[k].sum() == 0", "k -= 1", SCANNED),
        ("k > 0 and boxes[k].sum() == 0", "k -= 1", SCANNED),
        ("k > 0 and boxes[0, k].sum() == 0", "k -= 1\n            n += 1", SCANNED),
        ("boxes[k] > limit", "k -= 1", SCANNED),
        ("not boxes[k, 0].any() and k > 0", "k -= 1", SCANNED),
        ("self.loss(x - boxes[k]) > 0", "k -= 1", DECIDES),
        ("(x - boxes[k]).sum() > 0", "k -= 1", DECIDES),
        ("boxes[k] > x.mean()", "k -= 1", DECIDES),
        ("boxes[k].sum() > boxes[k - 1].sum()", "k -= 1", DECIDES),
        ("boxes[x[k]] > 0", "k -= 1", DECIDES),
        ("boxes.refined()[k] > 0", "k -= 1", DECIDES),
        ("boxes[k] > best", "x = self.net(x)\n            best = x.mean()\n            k -= 1", DECIDES),
        ("flat[k] > 0", "boxes.sub_(0.1)\n            k -= 1", DECIDES),
        ("boxes[k] > 0", "for k in range(k, 9): self.net(x)\n            k += 1", DECIDES),
        ("boxes[k] > 0", "k, x = self.grown(k, x)\n            k += 1", DECIDES),
        ("boxes[k] > 0", "k += 1\n            k = 2 * k", DECIDES),
        ("boxes[k] > 0", "k += 1\n            k += self.stride", DECIDES),
        ("boxes[k].sum() == 0", "boxes = self.net(boxes)\n            k -= 1", DECIDES),
        ("boxes[k].sum() == 0", "boxes[k - 1] = 0\n            k -= 1", DECIDES),
        ("boxes[k].sum() == 0", "self.grow(boxes)\n            k -= 1", DECIDES),
        ("boxes[k].sum() == 0", "k = self.links[k]", DECIDES),
        ("boxes[k].sum() == 0", "n += 1", DECIDES),
        ("boxes.sum() < k", "k -= 1", DECIDES),
    ],
)
def test_walking_along(test, turn, expected):
    source = f"""\
class Head(nn.Module):
    def forward(self, x: torch.Tensor, boxes: torch.Tensor, limit: float):
        best, flat = x.mean(), boxes.view(-1)
        k, n = len(boxes) - 1, 0
        while {test}:
            {turn}
        return self.net(x), boxes[: k + 1], n
"""
    files = texts(source)
    spot = list(truths(SourceFile(Project.of_texts(files), "a.py", files["a.py"])))[-1]
    assert consequence(spot) == expected
