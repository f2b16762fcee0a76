"""Loops that evaluate a model whose mode their caller has set."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.autograd.evaluated_elsewhere import evaluated_elsewhere
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(8, 8)

    def forward(self, x):
        return self.table(x)

    def predict(self, x):
        return self.forward(x).sum(1)

    def size(self):
        return self.table.num_embeddings

"""
RUN = """
def run(model, users):
    ranks = []
    for user in users:
        ranks.append({turn})
    return ranks

model = Net().cuda()
for epoch in range(9):
    if {when}:
        model.eval()
        run(model, data)
        {then}
"""


def told(turn, when="args.only", then="pass"):
    files = texts(NET + RUN.format(turn=turn, when=when, then=then))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    return [ast.unparse(found.site.call) for found in evaluated_elsewhere(file)]


@pytest.mark.parametrize("turn", ["model.predict(user)", "model(user)"])
def test_a_method_as_well_as_the_model(turn):
    assert told(turn) == [turn]


@pytest.mark.parametrize("turn", ["model.size()", "model.state_dict()", "other.predict(user)", "model.other(user)"])
def test_what_runs_no_model(turn):
    assert told(turn) == []


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ("epoch % 5 == 0", ["model.predict(user)"]),
        ("(epoch + 1) % args.every == 0", ["model.predict(user)"]),
        ("step % 1000 == 0", []),
        ("steps_of_epoch % 1000 == 0", []),
    ],
)
def test_now_and_then(when, expected):
    """An evaluation after each fifth epoch goes through all its inputs; in between steps it may be of a few."""
    assert told("model.predict(user)", when, "model.train()") == expected


def test_a_caller_that_switches_gradients_off_says_whose_part_that_is():
    other = "model.train()\n        with torch.no_grad():\n            run(model, data)"
    assert told("model(user)", then=other) == []
    assert told("model(user)", then="model.train()") == ["model(user)"]
