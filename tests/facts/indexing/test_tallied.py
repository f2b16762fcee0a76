"""Counts that go to the places of the values that occur."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.selections import selections
from torchperf_lint.facts.indexing.tallied import is_tallied

COUNTS = """\
class Counts(nn.Module):
    def forward(self, labels: torch.Tensor, seen: torch.Tensor):
        labels, seen = labels.cuda(), seen.cuda()
        {found}
        {kept}
        return seen
"""
PAIR = "values, counts = labels.unique(return_counts=True)"


@pytest.mark.parametrize(
    ("found", "kept", "tallied"),
    [
        (PAIR, "seen[values] += counts", True),
        (PAIR, "seen[values] = counts.to(seen.dtype)", True),
        (PAIR, "seen[0, values] += counts", True),
        ("found = torch.unique(labels, return_counts=True)", "seen[found[0]] += found[1]", True),
        (PAIR, "seen[values] -= counts", False),
        (PAIR, "seen[values] += counts.max()", False),
        (PAIR, "seen[values] += 1", False),
        (PAIR, "seen[values] += counts; print(values)", False),
        (PAIR, "seen = counts.float()", False),
        ("found = labels.unique(return_counts=True)", "seen[found[0]] += found[1]; print(found)", False),
        ("values, counts = labels.unique(return_counts=True, dim=0)", "seen[values] += counts", False),
        ("print(labels.unique(return_counts=True))", "pass", False),
    ],
)
def test_counts_at_the_places_of_their_values(found, kept, tallied):
    files = texts(COUNTS.format(found=found, kept=kept))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    (selection,) = selections(file)
    assert is_tallied(selection) is tallied
