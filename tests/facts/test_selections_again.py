"""Masks that are searched for their elements more than once."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts import selections_again
from torchperf_lint.facts.project import Project
from torchperf_lint.facts.selections import selections
from torchperf_lint.facts.selections_again import is_used_again
from torchperf_lint.facts.source import SourceFile

CODE = """
    class Net(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor):
            kept = x.cuda() > 0
            first = kept.nonzero()
            {between}
            return first, kept.nonzero(), (x > y).nonzero(), (x > y).nonzero()

        def masked(self, x: torch.Tensor):
            kept = x.cuda() > 0
            return kept.nonzero(), kept.nonzero()
"""


def again(between):
    files = texts(CODE.format(between=between))
    found = list(selections(SourceFile(Project.of_texts(files), "a.py", files["a.py"])))
    return [is_used_again(selection, found) for selection in found]


@pytest.mark.parametrize(
    ("between", "kept", "compared"),
    [
        ("pass", True, True),
        ("kept[0] = True", False, True),
        ("kept &= y", False, True),
        ("torch.gt(x, 0, out=kept)", False, True),
        ("y.clamp_(0)", True, False),
        ("self.kept = kept", True, True),
    ],
)
def test_what_is_written_between_two_searches_gives_other_elements(between, kept, compared):
    assert again(between)[:4] == [kept, kept, compared, compared]


def test_a_function_is_read_once_for_all_its_searches(monkeypatch):
    read, changed = [], selections_again.changed
    monkeypatch.setattr(selections_again, "changed", lambda node: (read.append(id(node)), changed(node))[1])
    assert any(again("pass"))
    assert len(read) == len(set(read)) > 0
