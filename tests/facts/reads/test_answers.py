"""Reads whose answer a function hands back to be decided upon."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.answers import is_answer

CODE = """\
class Gate(nn.Module):
    def forward(self, x: torch.Tensor):
        y = self.net(x)
        {lines}
"""


def answers(*lines: str) -> bool:
    files = texts(CODE.format(lines="\n        ".join(lines)))
    (site,) = SourceFile(Project.of_texts(files), "a.py", files["a.py"]).hot_calls("item")
    return is_answer(site)


@pytest.mark.parametrize(
    "lines",
    [
        ("return y.mean().item() > self.limit",),
        ("return not y.mean().item() > self.limit",),
        ("return y.argmax().item()",),
        ("score = y.mean().item()", "return score > self.limit"),
        ("score: float = y.mean().item()", "self.log(score)", "return self.wanted and score > self.limit"),
        ("self.score = y.mean().item()", "return self.score > self.limit"),
        ("with torch.no_grad():", "    self.score = y.mean().item()", "return self.score > self.limit"),
    ],
)
def test_what_the_caller_branches_on(lines):
    assert answers(*lines)


@pytest.mark.parametrize(
    "lines",
    [
        ("return y.mean().item()",),
        ("score = y.mean().item()", "return y, score"),
        ("score = y.mean().item()", "return y > self.limit"),
        ("score = y.mean().item()", "return score is None"),
        ("scores = [] if y.mean().item() > 3 else y", "return scores > 3"),
        ("total = y.sum().item()", "return total == float('inf') or total == -math.inf or total != total"),
        ("if self.training:", "    self.score = y.mean().item()", "return self.score > self.limit"),
    ],
)
def test_what_is_only_told(lines):
    assert not answers(*lines)
