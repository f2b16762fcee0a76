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


TABLE = """
kernels = {{}}

class Net(nn.Module):
    def forward(self, x):
        return F.conv2d(x, self.kernel(x.device, 5))

    def kernel(self, device, size):
        table = {table}
        found = {looked_up}
        if found is None:
            found = torch.ones(size, size).to(device)  # <-
            {kept}
        return found
"""


@pytest.mark.parametrize(
    ("table", "looked_up", "kept", "hot"),
    [
        ("None", "kernels.get(device)", "kernels[device] = found", False),
        ("None", "self.kernels.get((device, size))", "self.kernels[device, size] = found", False),
        ("None", "kernels.get(device)", "self.last = found", True),
        ("None", "kernels.get(device)", "other[device] = found", True),
        ("{}", "table.get(device)", "table[device] = found", True),
        ("None", "load(device)", "kernels[device] = found", True),
    ],
)
def test_what_is_looked_up_and_kept_is_made_once(table, looked_up, kept, hot):
    assert (hot_at(TABLE.format(table=table, looked_up=looked_up, kept=kept)) is not None) is hot
