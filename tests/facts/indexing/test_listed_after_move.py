"""Tables that are moved to the device, and then indexed by lists."""

from __future__ import annotations

import ast

import pytest
from calls_in import site_of

from torchperf_lint.facts.indexing.listed_after_move import listed_after_move

TEXT = """\
def forward(self, x: torch.Tensor, n, flag):
    table = self.table.to(x.device)
    {again}
    if flag:
        places = {first}
    else:
        places = {second}
    return x * table[places]
"""


def subscripts(first="[n for _ in range(3)]", second="[n] * 3", again="pass"):
    text = TEXT.format(first=first, second=second, again=again)
    found = listed_after_move(site_of(text, "self.table.to(x.device)"))
    return [ast.unparse(node) for node in found]


def test_each_branch_makes_a_list():
    assert subscripts() == ["table[places]"]


@pytest.mark.parametrize(
    "changed",
    [
        {"first": "n"},
        {"second": "x.argmax(1)"},
        {"second": "[x.argmax()] * 3"},
        {"again": "table = table + 1"},
    ],
)
def test_other_indices_and_tables(changed):
    assert subscripts(**changed) == []
