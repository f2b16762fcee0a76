"""Loops through the values that occur."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.purposes import BY_GROUP, GROUPS
from torchperf_lint.facts.indexing.selections import DISTINCT, selections
from torchperf_lint.facts.indexing.value_loops import of_groups

LOOP = """\
class Net(nn.Module):
    def forward(self, x: torch.Tensor, labels: torch.Tensor, batch: torch.Tensor):
        x, labels, batch, kept = x.cuda(), labels.cuda(), batch.cuda(), []
        for c in {over}:
            {turn}
        return kept
"""


@pytest.mark.parametrize(
    ("over", "turn", "what"),
    [
        ("labels.unique()", "kept.append(x[labels == c].mean(0))", GROUPS),
        ("torch.unique(labels)", "own = labels == c; kept.append(x[own].sum(0))", GROUPS),
        ("labels.unique().tolist()", "kept.append(x[labels == c].mean(0))", GROUPS),
        ("batch.unique()", "kept.append(x[batch == c])", BY_GROUP),
        ("labels.unique()", "kept.append(x[labels == c])", None),
        ("labels.unique()", "kept.append(x[labels == c].mean(0)); kept.append(x[labels == c])", None),
        ("labels.unique()", "kept.append(x[batch == c].mean(0))", None),
        ("labels.unique()", "x[c] = 0", None),
        ("enumerate(labels.unique())", "kept.append(x[labels == c].mean(0))", None),
    ],
)
def test_what_a_loop_does_with_each_value(over, turn, what):
    files = texts(LOOP.format(over=over, turn=turn))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    found = list(selections(file))
    (values,) = [one for one in found if one.form == DISTINCT]
    assert of_groups(values, found) == what
