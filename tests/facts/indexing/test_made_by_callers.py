"""Indices that callers make on the host and hand on."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.host_indices import host_indices

CODE = """
    class Chain(nn.Module):
        def forward(self, x: torch.Tensor, tags: torch.LongTensor):
            x = x.cuda()
            rows = {made}
            {before}
            return sum([self.score(x, tags, t, {given}) for t in range(9)])

        def score(self, x, tags, t, rows=None):
            {within}
            return x[rows, t, tags[:, t]]
"""


def told(made="torch.arange(len(tags))", before="", given="rows", within="", end=""):
    files = texts(CODE.format(made=made, before=before, given=given, within=within) + end)
    return [found.source for found in host_indices(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))]


@pytest.mark.parametrize("given", ["rows", "rows=rows", "torch.arange(len(tags))"])
def test_what_a_caller_makes_is_told_where_it_is_used(given):
    (source,) = told(given=given)
    assert source.startswith("`rows` is host memory (`torch.arange`, line ")


def test_a_size_put_into_what_a_caller_makes_leaves_it_on_the_host():
    assert told(before="rows[3] = int(tags.shape[0])") == ["`torch.arange(...)` fills host memory"]


@pytest.mark.parametrize(
    "other",
    [
        {"made": "torch.arange(len(tags), device=x.device)"},
        {"made": "torch.arange(len(tags)).cuda()"},
        {"made": "tags.argmax(1)"},
        {"before": "rows = rows.to(x.device)"},
        {"within": "rows = rows.to(x.device)"},
    ],
)
def test_other_indices_are_not(other):
    assert told(**other) == []


def test_all_callers_have_to():
    other = "\n        def again(self, x: torch.Tensor, tags, rows):\n            return self.score(x, tags, 0, rows)\n"
    assert told(end=other) == []
