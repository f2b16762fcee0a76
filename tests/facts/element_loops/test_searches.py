"""Searches in each turn of a loop of which one place is read, and others."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.purposes import FOUND
from torchperf_lint.facts.indexing.selected import purpose
from torchperf_lint.facts.indexing.selections import selections

RANKS = """
    class Net(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor):
            order, ranks = self.layer(x).cuda().argsort(1), []
            for i in range(x.size(0)):
                {turn}
            return ranks
"""


@pytest.mark.parametrize(
    ("turn", "one"),
    [
        ("ranks.append((order[i] == y[i]).nonzero().item())", True),
        ("found = (order[i] == y[i]).nonzero(); assert found.size(0) == 1; ranks.append(found.item())", True),
        ("found = (order[i] == y[i]).nonzero(); ranks.append(found.item()); ranks.append(found)", False),
        ("found = (order[i] == y[i]).nonzero(); ranks.append(found)", False),
        ("found = (order[0] == y[0]).nonzero(); ranks.append(found.item())", False),
    ],
)
def test_one_place_that_is_read_each_turn(turn, one):
    files = texts(RANKS.format(turn=turn))
    (search,) = selections(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))
    assert (purpose(search) == FOUND) is one
