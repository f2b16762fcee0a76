"""What makes the modules of a list."""

from __future__ import annotations

import ast

import pytest
from calls_in import site_of

from torchperf_lint.facts.models.listed_modules import makers_of_listed

A, B = "nn.Linear(4, 4)", "nn.ReLU()"


def told(init, forward, call, more=""):
    lines = "".join(f"        {line}\n" for line in init.splitlines())
    body = "".join(f"        {line}\n" for line in forward.splitlines())
    snippet = f"class Net(nn.Module):\n    def __init__(self):\n{lines}\n    def forward(self, x):\n{body}\n{more}"
    site = site_of(snippet, call)
    found = makers_of_listed(site.file, site.record)
    return None if found is None else [ast.unparse(node) for node in found[1]]


@pytest.mark.parametrize(
    ("init", "expected"),
    [
        (f"self.parts = nn.ModuleList([{A}, {B}])", [A, B]),
        (f"self.parts = nn.ModuleList([{A} for _ in range(3)])", [A]),
        (f"self.parts = nn.ModuleList({A} for _ in range(3))", [A]),
        (f"self.parts = nn.ModuleList()\nfor _ in range(3):\n    self.parts.append({A})", [A]),
        (f"self.parts = []\nfor _ in range(3):\n    part = {A}\n    self.parts.append(part)", [A]),
        ("self.parts = nn.ModuleList()", None),
        (f"self.parts = nn.ModuleList([{A}])\nself.parts.extend(more)", None),
        (f"self.parts = nn.ModuleList([{A}])\nself.parts += more", None),
        (f"self.parts = nn.ModuleList([{A}])\nself.parts = given", None),
        ("self.parts = nn.ModuleList()\nself.parts.append(given)", None),
        ("self.parts = nn.ModuleList(given)", None),
        (f"self.parts = nn.ModuleDict({{'a': {A}}})", None),
        ("self.parts = nn.ModuleList([*given])", None),
    ],
)
def test_lists(init, expected):
    assert told(init, "return self.parts[0](x)", "self.parts[0](x)") == expected


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        ("for part in self.parts:", [A]),
        ("for i, part in enumerate(self.parts):", [A]),
        ("for other, part in zip(self.others, self.parts):", [A]),
        ("for i, (part, other) in enumerate(zip(self.parts, self.others)):", [A]),
        ("for part in self.parts[1:]:", None),
        ("for part, other in self.parts:", None),
        ("for part in given:", None),
    ],
)
def test_loops(loop, expected):
    init = f"self.parts = nn.ModuleList([{A}])\nself.others = nn.ModuleList([{B}])"
    assert told(init, f"{loop}\n    x = part(x)\nreturn x", "part(x)") == expected


def test_another_method_changes_the_list():
    init = f"self.parts = nn.ModuleList([{A}])"
    more = "    def grow(self, part):\n        self.parts.append(part)\n"
    assert told(init, "return self.parts[0](x)", "self.parts[0](x)", more) is None
