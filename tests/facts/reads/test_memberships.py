"""Tensors that are looked up in lists."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.memberships import memberships

DECODE = """\
class Decoder(nn.Module):
    def forward(self, x: torch.Tensor, ends: list[int], table: dict):
        best = x.cuda().argmax(-1)
        return [{asked} for i in range(10)]
"""


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("best[0] in ends", True),
        ("best[0] not in (1, 2)", True),
        ("best[0] in table", False),
        ("i in best", True),
        ("i in table", False),
        ("best[0] in {1, 2}", False),
        ("'key' in best", False),
        ("best.shape[0] in ends", False),
        ("len(best) in table", False),
    ],
)
def test_a_list_is_asked_one_by_one(asked, found):
    files = texts(DECODE.format(asked=asked))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert bool(list(memberships(file))) is found
