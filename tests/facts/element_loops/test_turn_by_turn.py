"""Reads of which each turn of a loop has its own, and which all turns could make together."""

from __future__ import annotations

from textwrap import indent

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.reads import conversion_readings, item_readings

HEAD = """\
class Head(nn.Module):
    def forward(self, x: torch.Tensor, masks: list[torch.Tensor], scores: torch.Tensor, names, tables):
        x, scores = x.cuda(), scores.cuda()
"""


def together(code):
    """What the reads of a forward pass are gathered of, where all could be made at once."""
    files = texts(HEAD + indent(code, " " * 8) + "\n")
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    again = [reading.read.repeated for reading in (*item_readings(file), *conversion_readings(file))]
    return [file.source(found.whole) for found in again if found is not None]


@pytest.mark.parametrize(
    ("code", "whole"),
    [
        ("sizes = [int(mask.sum()) for mask in masks]\nreturn x.split(sizes)", "masks"),
        ("sizes = [mask.sum().item() for mask in masks]\nreturn x[: sizes[0]]", "masks"),
        ("for i, mask in enumerate(masks):\n    n = mask.sum().item()\n    x = x[:n]\nreturn x", "masks"),
        (
            "kept = {}\nfor k in range(len(x)):\n    row = 2 * k + 1\n    prefix = x[row].tolist()\n"
            "    if kept[prefix[0]]:\n        break",
            "x",
        ),
        (
            "kept = {}\nfor s, token in zip(*scores.topk(5)):\n    n = token.item()\n    if n in kept:\n        pass",
            "scores.topk(5)",
        ),
        ("picked = [x[torch.multinomial(scores[i], 1).item()] for i in range(len(x))]\nreturn picked", "scores"),
        (
            "for i in torch.argsort(-scores):\n    if scores[i].item() < 0.5:\n        break\n    x = x + 1\nreturn x",
            "torch.argsort(-scores)",
        ),
        (
            "ids, best = set(), scores.long()\nfor j in (scores > 0).nonzero():\n    d = scores[best[j]]\n"
            "    if d.item() not in ids:\n        ids.add(j)",
            "(scores > 0).nonzero()",
        ),
        ("picked = []\nfor row in scores:\n    k = row.multinomial(1).item()\n    picked.append(x[k])", "scores"),
    ],
)
def test_one_read_does_for_all_turns(code, whole):
    assert together(code) == [whole]


@pytest.mark.parametrize(
    "code",
    [
        "sizes = [names[key].sum().item() for key in tables]\nreturn x.split(sizes)",
        "sizes = []\nfor mask in masks:\n    x = self.step(x, mask)\n    n = x.sum().item()\n    sizes.append(x[:n])",
        "for mask in scores > 0:\n    if x[mask].sum().item() > 3:\n        break",
        "taken = scores > 0\nfor mask in masks:\n"
        "    if (mask & taken).sum().item() > 3:\n        continue\n    taken[mask] = 1",
        "for i in torch.argsort(-scores):\n    if scores[i].item() > 3:\n        scores[i] = 0\n        x = x[:1]",
        "rows = [mask.tolist() for mask in masks]\nreturn x[rows[0]]",
        "sizes = [(x == k).sum().item() for k in range(len(names))]\nreturn x.split(sizes)",
        "sizes = [(x * torch.rand(3)).sum().item() for k in range(len(names))]\nreturn x.split(sizes)",
        "sizes = [int(head.sum()) for head in masks]\nreturn x.split(sizes)",
    ],
)
def test_other_reads_stay_single(code):
    assert together(code) == []
