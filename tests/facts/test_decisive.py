"""Which names decide what a function does next."""

from __future__ import annotations

import ast

import pytest

from torchperf_lint.facts.effects import decisive_names


def decides(code, name):
    return name in decisive_names(ast.parse(code).body)


@pytest.mark.parametrize(
    "code",
    [
        "if value > 3:\n    stop()",
        "self.value = value\nif self.value > 3:\n    stop()",
        "limits[0] = value\nif limits[0] > 3:\n    stop()",
        "limits[0] = value\nif limits:\n    stop()",
        "seen = {value}\nif other in seen:\n    stop()",
        "out = torch.zeros(value)",
    ],
)
def test_what_decides(code):
    assert decides(code, "value")


@pytest.mark.parametrize(
    "code",
    [
        "self.value = value\nif self.other > 3:\n    stop()",
        "if key in self.table:\n    self.table[key] += value\nelse:\n    self.table[key] = value",
        "if key not in table:\n    table[key] = value",
        "table[key] = value\nif key > 3:\n    stop()",
    ],
)
def test_what_is_only_kept(code):
    assert not decides(code, "value")
