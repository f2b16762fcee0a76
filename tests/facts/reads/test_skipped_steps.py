"""Training steps that a look at the loss leaves out."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.skipped_steps import is_zero, skips_a_step
from torchperf_lint.facts.reads.truths import truths

TRAIN = """\
def train(net: nn.Module, loader: DataLoader, opt, limit):
    for x in loader:
        loss = net(x.cuda()).sum()
        if {test}:
            {body}
        loss.backward()
        opt.step()
"""


@pytest.mark.parametrize(
    ("test", "body", "skips"),
    [
        ("torch.isnan(loss)", "continue", True),
        ("not torch.isfinite(loss)", "print(loss); continue", True),
        ("loss == 0", "opt.zero_grad(); continue", True),
        ("loss == 0", "break", False),
        ("loss == 0", "loss = loss + 1", False),
        ("(x > 1).any()", "continue", False),
    ],
)
def test_a_step_is_left_out_because_of_its_loss(test, body, skips):
    files = texts(TRAIN.format(test=test, body=body.replace("; ", "\n            ")))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    (spot,) = truths(file)
    assert skips_a_step(spot, spot.expression) is skips


@pytest.mark.parametrize(("test", "zero"), [("loss == 0", True), ("loss == 0.0", True), ("loss == n", False)])
def test_a_loss_that_is_zero(test, zero):
    assert is_zero(ast.parse(test, mode="eval").body) is zero
