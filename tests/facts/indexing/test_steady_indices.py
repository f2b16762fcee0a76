"""Indices in host memory whose numbers the device could hold, or make."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.host_indices import host_indices


def told(body):
    """How many subscripts of a forward pass are told."""
    text = "ORDER = [2, 1, 0]\nKEPT = torch.tensor([0, 2])\n\nclass M(nn.Module):\n"
    text += "    def forward(self, x: torch.Tensor, rows: list[int], g):\n        x = x.cuda()\n"
    files = texts(text + indent(dedent(body), " " * 8))
    return len(list(host_indices(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))))


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("return x[:, torch.tensor([2, 1, 0])]", 1),
        ("order = torch.LongTensor([2, 1, 0])\nreturn x[:, order]", 1),
        ("return x[..., ORDER]", 1),
        ("return x[KEPT]", 1),
        ("mask = torch.eye(len(x)).bool()\nreturn x[~mask]", 1),
        ("mask = torch.ones(x.shape, dtype=torch.bool)\nmask[0, 1] = False\nx[mask] = 0", 1),
        ("rows = np.triu_indices(x.shape[0], 1)\nreturn x[rows]", 1),
        ("picked = torch.multinomial(torch.ones(len(x)), 4)\nreturn x[picked]", 1),
        ("picked = torch.multinomial(torch.ones(len(x)), 4, generator=g)\nreturn x[picked]", 0),
        ("orders = [torch.randperm(len(x)) + 1 for _ in rows]\nreturn [x[i, orders[i]] for i in range(3)]", 1),
        ("orders = [torch.tensor(rows) for _ in rows]\nreturn [x[i, orders[i]] for i in range(3)]", 0),
        ("order = torch.tensor(rows)\nreturn x[:, order]", 0),
        ("mask = torch.ones(x.shape, dtype=torch.bool)\nfor r in rows:\n    mask[r] = False\nreturn x[mask]", 0),
        ("order = torch.tensor([2, 1], device=x.device)\nreturn x[:, order]", 0),
        ("order = torch.tensor([2, 1])\nreturn x.cpu()[:, order]", 0),
        ("return [x[i] for i in np.arange(4)]", 0),
        ("total = 0\nfor i in np.arange(4):\n    total += x[i]\nreturn total", 0),
        ("total = 0\nfor i in np.delete(np.arange(4), 2):\n    total += x[i]\nreturn total", 0),
    ],
)
def test_constants_and_what_factories_make_need_not_be_copied(body, count):
    assert told(body) == count


FORWARD = "class M(nn.Module):\n    def forward(self, x: torch.Tensor, chosen, names: dict):\n        x = x.cuda()\n"
PAIRS = """
{begun}
for i in range(x.shape[1] - 1):
    for j in range(i + 1, x.shape[1]):
        {added}
return (x[:, row] * x[:, col]).sum()
"""


@pytest.mark.parametrize(
    ("begun", "added", "count"),
    [
        ("row, col = [], []", "row.append(i), col.append(j)", 2),
        ("row, col = list(), list()", "row.append(i)\n        col.append(j)", 2),
        ("row = list()\ncol = list()", "row.append(i), col.append(j - 1)", 2),
        ("row, col = list(), list()", "row.append(chosen[i]), col.append(chosen[j])", 0),
        ("row, col = list(), list()", "if x[i, j] > 0:\n            row.append(i), col.append(j)", 0),
        ("row, col = list(names), list(names)", "row.append(i), col.append(j)", 0),
        ("row, col = set(), set()", "row.add(i), col.add(j)", 0),
    ],
)
def test_lists_that_loops_over_sizes_count_into_are_the_same_at_every_step(begun, added, count):
    files = texts(FORWARD + indent(PAIRS.format(begun=begun, added=added), " " * 8))
    assert len(list(host_indices(SourceFile(Project.of_texts(files), "a.py", files["a.py"])))) == count
