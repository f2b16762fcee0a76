"""Names of attributes as texts, and what is set and asked for under them."""

from __future__ import annotations

import ast

import pytest
from snippets import value_of

from torchperf_lint.facts.syntax.written_names import under, written_name


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("'fc'", "fc"),
        ("f'fc{i}'", "fc{}"),
        ("f'fc{i}_{j}'", "fc{}_{}"),
        ("'fc%d' % i", "fc{}"),
        ("'fc_%d_%s' % (i, name)", "fc_{}_{}"),
        ("'fc{}'.format(i)", "fc{}"),
        ("'fc{0}_{side:>3}'.format(i, side=s)", "fc{}_{}"),
        ("'fc' + str(i)", "fc{}"),
        ("'fc' + str(i) + '_out'", "fc{}_out"),
        ("name", ""),
        ("name + '_out'", ""),
        ("f'{name}'", ""),
        ("f'{space}_{name}'", ""),
        ("'%s' % name", ""),
        ("n % 3", ""),
        ("prefix.format(i)", ""),
        ("a.b(i)", ""),
    ],
)
def test_what_is_written_out(written, name):
    assert written_name(ast.parse(written, mode="eval").body) == name


@pytest.mark.parametrize(
    ("held", "name", "found"),
    [
        ("fc", "fc", True),
        ("fc{}", "fc{}", True),
        ("fc{}", "fc0", True),
        ("fc{}", "fc12", True),
        ("fc_{}", "fc_left", True),
        ("{}_out", "left_out", True),
        ("fc12", "fc{}", True),
        ("fc{}", "fcs", False),
        ("l{}", "loss", False),
        ("fc{}", "fc{}_out", False),
        ("fc_{}", "head_0", False),
    ],
)
def test_which_names_one_may_be(held, name, found):
    assert under({held: [1]}, name) == ([1] if found else [])


def test_the_name_itself_comes_first():
    assert under({"fc{}": [1], "fc0": [2]}, "fc0") == [2]


MODULE = """\
class Net(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        for i, n in enumerate(sizes):
            {put}

    def forward(self, x, i):
        y = {asked}  # <-
"""


@pytest.mark.parametrize(
    ("put", "asked"),
    [
        ("setattr(self, f'fc{i}', nn.Linear(n, n))", "getattr(self, f'fc{i}')(x)"),
        ("setattr(self, 'fc' + str(i), nn.Linear(n, n))", "getattr(self, 'fc{}'.format(i))(x)"),
        ("setattr(self, 'fc', nn.Linear(n, n))", "self.fc(x)"),
        ("self.add_module('fc%d' % i, nn.Linear(n, n))", "self.fc0(x)"),
        ("self.add_module('fc', nn.Linear(n, n))", "self.fc(x)"),
        ("self.fc0 = nn.Linear(n, n)", "getattr(self, f'fc{i}')(x)"),
        ("self.register_buffer('table_%d' % i, torch.arange(n))", "self.table_0"),
        ("self.register_buffer('table_{}'.format(i), torch.arange(n))", "getattr(self, f'table_{i}')"),
    ],
)
def test_values_of_what_is_set_by_name(put, asked):
    assert value_of(MODULE.replace("{put}", put).replace("{asked}", asked), asked).kind == "tensor"


@pytest.mark.parametrize(
    ("put", "asked"),
    [
        ("setattr(self, n, nn.Linear(n, n))", "self.fc(x)"),
        ("setattr(i, 'fc', nn.Linear(n, n))", "self.fc(x)"),
        ("setattr(self, f'fc{i}', n)", "getattr(self, f'fc{i}')(x)"),
        ("i.add_module('fc', nn.Linear(n, n))", "self.fc(x)"),
        ("setattr(self, f'l{i}', nn.Linear(n, n))", "self.loss(x)"),
    ],
)
def test_what_nobody_set(put, asked):
    assert value_of(MODULE.replace("{put}", put).replace("{asked}", asked), asked).kind == "unknown"
