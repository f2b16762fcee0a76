"""Values at the end of many bindings, one made of the other."""

from __future__ import annotations

import sys

import pytest
from snippets import value_of

CHAIN = 400


def _chain(step: str) -> str:
    lines = "\n".join(f"    x{n + 1} = {step.format(f'x{n}')}" for n in range(CHAIN))
    return f"import torch\n\n\ndef forward(a):\n    x0 = torch.zeros(3)\n{lines}\n    return x{CHAIN}\n"


@pytest.mark.parametrize("step", ["{0} * 2", "{0}.abs().exp()", "torch.relu({0}) + {0}", "((({0} + 1) * 2) - 3) / {0}"])
def test_what_is_made_of_it_far_below_is_known(step: str) -> None:
    before = sys.getrecursionlimit()
    assert value_of(_chain(step), f"x{CHAIN}").kind == "tensor"
    assert sys.getrecursionlimit() == before


def test_a_list_made_of_itself_ends() -> None:
    source = """
        import torch

        def forward(x):
            rows = []
            for i in range(3):
                rows.append(y)
                y = torch.stack(rows)
                rows += [y]
            return rows[0]
    """
    assert value_of(source, "rows[0]").kind in ("tensor", "unknown")
