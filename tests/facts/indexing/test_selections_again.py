"""Masks that are searched for their elements more than once."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing import selections_again
from torchperf_lint.facts.indexing.selections import selections
from torchperf_lint.facts.indexing.selections_again import is_used_again

CODE = """
    class Net(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor):
            kept = x.cuda() > 0
            first, compared = kept.nonzero(), (x > y).nonzero()
            {between}
            return first, kept.nonzero(), compared, (x > y).nonzero()

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
    assert again(between)[:4] == [kept, compared, kept, compared]


def test_a_function_is_read_once_for_all_its_searches(monkeypatch):
    read, changed = [], selections_again.changed
    monkeypatch.setattr(selections_again, "changed", lambda node: (read.append(id(node)), changed(node))[1])
    assert any(again("pass"))
    assert len(read) == len(set(read)) > 0


STEP = """
    class Net(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor):
            x, out = self.layer(x).cuda(), torch.zeros_like(y)
            kept = x > 0
            {code}
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("out[kept] = self.layer(x[kept])", [True, True]),
        ("a, b = x[kept], y[kept]", [True, True]),
        ("out[kept], x[kept] = self.layer(y), self.layer(y)", [True, True]),
        ("x[kept] *= 2", [True]),
        ("x[x > 0] = self.layer(y[x > 0])", [True, True]),
        ("out[kept] = 0.0; y = x[kept]", [False]),
        ("x[x > 0] = self.layer(y); y = y[x > 0]", [False, False]),
        ("a = x[kept]; kept[0] = True; b = y[kept]", [False, False]),
        ("kept[0] = True; a = x[kept]; b = y[kept]; kept[1] = True", [True, True]),
        ("a = x[kept] if self.training else y[kept]", [False, False]),
        ("a = x[kept]; kept = y > 0; b = y[kept]", [False, False]),
        ("a, b = x[kept], y[~kept]", [False, False]),
        ("if not kept.all(): a, b = x[kept], y[kept]", [True, True]),
        ("kept = x.isfinite(); if not torch.all(kept): a, b = x[kept], y[kept]", [False, False]),
        ("kept = ~torch.isnan(x); if not kept.all(): a, b = x[kept], y[kept]", [False, False]),
        ("if kept.any(): a, b = x[kept], y[kept]", [True, True]),
        ("a, b = (part[kept] for part in (x, y))", [True]),
        ("a = {name: part[kept] for name, part in y.items()}", [True]),
        ("a = [part[kept] for part in self.layer(y)]", [True]),
        ("a = [part.masked_select(kept) for part in (x, y, out)]", [True]),
        ("a = [part[kept] for part in (x,)]", [False]),
        ("a = [x[kept] * n for n in (1, 2)]", [False]),
        ("a = [part[part > 0] for part in (x, y)]", [False]),
    ],
)
def test_a_mask_that_selects_and_is_stored_by_is_searched_twice(code, expected):
    files = texts(STEP.format(code=code.replace("; if", "\n            if")))
    found = list(selections(SourceFile(Project.of_texts(files), "a.py", files["a.py"])))
    assert [is_used_again(selection, found) for selection in found] == expected
