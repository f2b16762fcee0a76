"""Tables that a branch fills by what it calls: behind it, what was missing is taken from them."""

from __future__ import annotations

import pytest
from snippets import hot_at

CODE = """
class Compiled(nn.Module):
    def forward(self, x, given):
        key = tuple(x.shape)
        table = {table}
        if key not in table:
            self.check(x)
            self.compile(x, key, table)
        {behind}

    def check(self, x):
        assert x.max().item() > 0  # <-
"""


@pytest.mark.parametrize(
    ("table", "behind", "hot"),
    [
        ("self.compiled[0]", "return table[key](x)", False),
        ("self.compiled", "return table[key](x)", False),
        ("{}", "return table[key](x)", True),
        ("given", "return table[key](x)", True),
        ("self.compiled", "return x", True),
        ("self.compiled", "table[key] = x", True),
    ],
)
def test_a_branch_that_fills_a_table_runs_once_for_a_key(table, behind, hot):
    assert (hot_at(CODE.format(table=table, behind=behind)) is not None) is hot
