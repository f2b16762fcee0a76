"""Answers that go by names and are only complained of."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.consequences import RAISES, consequence

CODE = """
class Net(nn.Module):
    def forward(self, x: torch.Tensor):
        low, bad = torch.stack(((x < 0).any(), x.isnan().any())).tolist()
        {}
        return x
"""


@pytest.mark.parametrize(
    ("then", "raises"),
    [
        ("if low:\n            raise ValueError\n        if bad:\n            raise ValueError(f'{bad}')", True),
        ("assert not (low or bad)", True),
        ("if low:\n            raise ValueError\n        if bad:\n            x = x + 1", False),
        ("if low:\n            raise ValueError", False),
        ("if low and bad:\n            raise ValueError\n        self.low = low", False),
        ("if low and bad:\n            raise ValueError\n        else:\n            x = self.other(x)", False),
    ],
)
def test_answers_that_are_only_complained_of(then, raises):
    files = texts(CODE.format(then))
    (site,) = SourceFile(Project.of_texts(files), "a.py", files["a.py"]).hot_calls("tolist")
    assert (consequence(site) == RAISES) is raises
