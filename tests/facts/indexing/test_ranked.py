"""The largest few of what a mask selects."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.purposes import RANKED
from torchperf_lint.facts.indexing.selected import purpose
from torchperf_lint.facts.indexing.selections import selections

RANKS = """\
class Ranks(nn.Module):
    def forward(self, loss: torch.Tensor, labels: torch.Tensor, k: int):
        loss, labels = loss.cuda().square(), labels.cuda()
        hard = loss[labels == 0]
        {ranked}
"""


@pytest.mark.parametrize(
    ("ranked", "told"),
    [
        ("return hard.topk(k).values", True),
        ("return hard.topk(k)[0].mean()", True),
        ("return torch.topk(hard, k)[0]", True),
        ("ordered, _ = torch.sort(hard, descending=True); return ordered[:k]", True),
        ("ordered, _ = hard.sort(); return ordered", False),
        ("ordered, places = hard.sort(); return ordered[:k], places[:k]", False),
        ("return hard.topk(k).indices", False),
        ("return hard.topk(k)", False),
        ("return hard.topk(k, dim=1).values", False),
        ("k = min(k, hard.numel()); return hard.topk(k).values", False),
        ("k = len(hard) // 4; return hard.topk(k).values", False),
    ],
)
def test_as_many_are_taken_whatever_is_selected(ranked, told):
    files = texts(RANKS.format(ranked=ranked))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    (selection,) = selections(file)
    assert (purpose(selection) == RANKED) is told
