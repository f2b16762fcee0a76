"""What a loop asks of the device in each turn: elements, cut parts, classes that are there, counts of the host."""

from __future__ import annotations

import ast
from textwrap import indent

import pytest
from snippets import texts

from torchperf_lint.facts.element_loops.counted_up import counted_up
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.reads import hot_read, repeated_read
from torchperf_lint.facts.reads.truths import truths, truths_in_loops

COLD = """\
{decorator}
def select(x: torch.Tensor, mask: torch.Tensor, sizes: list, low: list):
    x, mask = x.to("cuda"), mask.to("cuda")
    kept = []
{body}
    return kept
"""
HOT = """\
class Loss(nn.Module):
    def forward(self, x: torch.Tensor, labels: torch.Tensor, words: list[str], classes="present"):
        x, labels = x.cuda(), labels.cuda()
        counts = torch.zeros(9, device="cuda")
{body}
        return x
"""


def opened(text):
    files = texts(text)
    return SourceFile(Project.of_texts(files), "a.py", files["a.py"])


def cold(body, decorator="# plain"):
    file = opened(COLD.format(body=indent(body, " " * 4), decorator=decorator))
    spots = truths_in_loops(file)
    return [ast.unparse(s.expression) for s in spots if repeated_read(file, s, s.expression) is not None]  # type: ignore[arg-type]


def hot(body):
    file = opened(HOT.format(body=indent(body, " " * 8)))
    reads = {ast.unparse(s.expression): hot_read(file, s, s.expression) for s in truths(file)}  # type: ignore[arg-type]
    return [written for written, read in reads.items() if read is not None and read.repeated is not None]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("for i in range(len(mask)):\n  if mask[i] == 1: kept.append(i)", ["mask[i] == 1"]),
        (
            "for i in range(9):\n  for j in range(len(x)):\n    if mask[i][j] > 0: kept.append(i)",
            ["mask[i][j] > 0"],
        ),
        ("for part in zip(torch.split(x, sizes)):\n  pass", []),
        ("for p, q in zip(x.split(sizes), mask.split(sizes)):\n  if not q.sum(): kept.append(p)", ["q.sum()"]),
        ("for i in range(len(low)):\n  if low[i] == 1: kept.append(i)", []),
        ("for i in range(len(mask)):\n  mask[i] = 0\n  if mask[i] == 1: kept.append(i)", []),
        ("for i in range(2):\n  if mask[i] == 1: kept.append(i)", []),
    ],
)
def test_tests_in_loops_of_code_that_is_not_known_to_be_hot(body, expected):
    assert cold(body) == expected


def test_a_kernel_asks_on_the_device():
    body = "for i in range(len(mask)):\n  if mask[i] == 1: kept.append(i)"
    assert cold(body, "@cuda.jit()") == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "for c in range(x.shape[1]):\n  own = (labels == c).float()\n  if own.sum() == 0: continue\n  x = x + 1",
            ["own.sum() == 0"],
        ),
        (
            "for c in self.names:\n  if not (labels == c).any(): continue\n  x = x * 2",
            ["(labels == c).any()"],
        ),
        (
            "for c in range(99):\n  m = c == labels\n  if torch.count_nonzero(m) > 5: x = self.f(x, m)",
            ["torch.count_nonzero(m) > 5"],
        ),
        (
            "for c in range(99):\n  if classes == 'present' and (labels == c).sum() == 0: continue\n  x = x + 1",
            ["(labels == c).sum() == 0"],
        ),
        (
            "for c in range(99):\n  if classes == 'all' and (labels == c).sum() == 0: continue\n  x = x + 1",
            [],
        ),
        ("for c in range(99):\n  if (labels > c).sum() == 0: continue\n  x = x + 1", []),
        ("for c in range(3):\n  if (labels == c).sum() == 0: continue\n  x = x + 1", []),
        ("for c in range(99):\n  if (labels == c).sum() == 0: continue\n  labels = self.f(labels)", []),
    ],
)
def test_classes_that_are_there(body, expected):
    assert hot(body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("for w in words:\n  counts[len(w)] += 1", ["counts"]),
        ("for i, w in enumerate(words):\n  counts[i] -= len(w)", ["counts"]),
        ("table = {w: len(w) for w in words}\nfor w in table:\n  counts[len(w)] += table[w]", ["counts"]),
        ("for w in words:\n  counts[0] += 1", []),
        ("for i in range(9):\n  counts[i] += x.sum()", []),
        ("for w in words:\n  counts[: len(w)] += 1", []),
        ("held = [0] * 9\nfor w in words:\n  held[len(w)] += 1", []),
    ],
)
def test_numbers_added_to_one_element_after_the_other(body, expected):
    file = opened(HOT.format(body=indent(body, " " * 8)))
    assert [ast.unparse(found.tensor) for found in counted_up(file)] == expected
