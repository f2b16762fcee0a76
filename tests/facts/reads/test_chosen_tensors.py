"""Tests that choose between two cheap computations of tensors of one shape, and their near misses."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.chosen_tensors import chooses_tensors
from torchperf_lint.facts.reads.truths import truths

NET = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.kept = nn.Linear(4, 4), 0
        self.register_buffer("scale", torch.ones(4))

    def forward(self, x: torch.Tensor, y: torch.Tensor, limit: float):
        n = 0
        {body}
        return x, y, n
"""


def chosen(body):
    files = texts(NET.format(body=body.replace("\n", "\n        ")))
    first = min(truths(SourceFile(Project.of_texts(files), "a.py", files["a.py"])), key=lambda spot: spot.start)
    return chooses_tensors(first)


@pytest.mark.parametrize(
    "body",
    [
        "if x.norm() > limit:\n    x = x * (limit / x.norm())",
        "if x.norm() > limit:\n    ratio = limit / x.norm()\n    return x * ratio\nelse:\n    return x",
        "if x.norm() > limit:\n    return x * limit\nreturn x",
        "if x.sum() < 0: x.zero_()",
        "if x.sum() < 0: x *= y",
        "if x.min() >= 0:\n    z = x * 2\nelse:\n    z = x.sigmoid()\nx = z",
        "changed = x.max() > 1\nif changed:\n    self.scale *= 2",
        "if x.max() > 1:\n    x[0, 1] = limit",
        "if limit and x.max() > 1:\n    x = torch.where(x > 1, x - 1, x)",
        "if torch.min(x) == torch.max(x):\n    return torch.zeros(x.shape)\nx = x - x.min()\nreturn x / x.max()",
        "x = x / 255 if x.max() > 1 else x",
        "if x.max() > 1:\n    x = x * 2\nelif x.min() < 0:\n    x = x / 2",
        "if x.max() > 1:\n    if limit > 3:\n        x = x * 2",
        "z = x.clone()\nif x.max() > 1:\n    z = x + 1\nx = z",
        "t = {'a': x * 2}\nz = t['a'].detach()\nif x.max() > 1:\n    z = t['a'].detach()\nx = z",
    ],
)
def test_a_choice_that_the_device_can_make(body):
    assert chosen(body)


@pytest.mark.parametrize(
    "body",
    [
        "if x.max() > 1:\n    x = x.sum(0)",
        "if x.max() > 1:\n    x = y",
        "if x.max() > 1:\n    x = x[y > 0]",
        "if x.max() > 1:\n    x = x.cpu()",
        "if x.max() > 1:\n    x = x.float()",
        "if x.max() > 1:\n    x = self.layer(x)",
        "if x.max() > 1:\n    x = x @ y",
        "if x.max() > 1:\n    n += 1",
        "if x.max() > 1:\n    self.kept += 1",
        "if x.max() > 1:\n    self.kept = x",
        "if x.max() > 1:\n    x = x * 2\n    print('large')",
        "if x.max() > 1:\n    raise ValueError",
        "if x.max() > 1:\n    return",
        "if x.max() > 1:\n    return x.mean()\nreturn x",
        "if x.max() > 1:\n    return x, y\nreturn x * 2",
        "for k in range(9):\n    if x.max() > 1:\n        x = x * 2\n        break",
        "if x.max() > 1:\n    z = x * 2\nx = z",
        "z = None\nif z is None or x.max() > 1:\n    z = x * 2\nx = z",
        "if x.max() > 1:\n    limit = float(x.max())\nx = x * limit",
        "if x.max() > 1:\n    x = x * 2\nelif x.min() < 0:\n    x = self.layer(x)",
        "if x.max() > 1:\n    if self.layer(x):\n        x = x * 2",
        "while x.max() > 1:\n    x = x / 2",
        "if x.max() > 1:\n    " + "\n    ".join(f"x = x * {k}" for k in range(2, 9)),
        "n = 3 if x.max() > 1 else 4",
    ],
)
def test_what_only_the_host_can_decide(body):
    assert not chosen(body)


SEARCH = """\
def search(net: nn.Linear, x: torch.Tensor, steps: int):
    x = x.cuda()
    lowest = float("inf")
    kept = {before}
    for _ in range(steps):
        loss = net(x).mean()
        loss.backward()
        {body}
    return lowest, kept
"""


@pytest.mark.parametrize(
    ("before", "body", "keeps"),
    [
        ("[]", "if loss < lowest: lowest = loss", True),
        ("[]", "if lowest > loss: lowest = loss.detach()", True),
        ("x.detach()", "if loss < lowest:\n    lowest = loss\n    kept = x.detach()", True),
        ("x.sum()", "if loss < lowest:\n    lowest = loss\n    kept = x.detach()", False),
        ("[]", "if loss < lowest: lowest = x.sum()", False),
        ("[]", "if loss < lowest:\n    lowest = loss\nelse:\n    steps = 0", False),
        ("[]", "if loss < lowest:\n    lowest = loss\n    kept.append(x)", False),
    ],
)
def test_the_best_that_a_search_keeps(before, body, keeps):
    files = texts(SEARCH.format(before=before, body=body.replace("\n", "\n        ")))
    first = min(truths(SourceFile(Project.of_texts(files), "a.py", files["a.py"])), key=lambda spot: spot.start)
    assert chooses_tensors(first) is keeps
