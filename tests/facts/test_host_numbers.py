"""Which expressions are one number that the host has, and so need no upload."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.host_numbers import is_host_number

CODE = """
import math
import random


def f(x: torch.Tensor, n: int, eps: float | None, lengths: list[int], kind="a", gain=2.0, other=None):
    count = len(lengths)
    either = x if n else 3
    for group in optimizer.param_groups:
        pass
    for i in range(n):
        for j, row in enumerate(lengths):
            torch.tensor({expression}, device=x.device)
"""


def number(expression):
    site = site_of(CODE.format(expression=expression), f"torch.tensor({expression}, device=x.device)")
    return is_host_number(site.file.project.values, site.call.args[0], site.frame)


@pytest.mark.parametrize(
    "expression",
    [
        *("3", "-0.5", "n", "eps", "gain", "i", "j", "count", "n * 2 + 1", "n if count else 0"),
        *("len(lengths)", "max(lengths)", "int(n)", "math.sqrt(n)", "x.shape[0]", "x.size(0)", "x.numel()", "x.item()"),
        *("random.random()", "np.random.beta(1.0, 1.0)", "np.random.rand()", "np.random.choice(n)", "group['lr']"),
        *("torch.finfo(x.dtype).min", "np.finfo(np.float32).eps"),
    ],
)
def test_one_number(expression):
    assert number(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "x",
        "lengths",
        "kind",
        "other",
        "row",
        "either",
        "abs(x)",
        "x.shape",
        "x.shape[1:]",
        "x.size()",
        "[1, 2]",
        "f(n)",
        "np.random.choice(n, (3,))",
        "random.sample(range(n), 3)",
    ],
)
def test_no_single_number(expression):
    assert not number(expression)


@pytest.mark.parametrize(
    ("returned", "known"),
    [
        ("x, sum([max(y.numel(), 1) for y in parts])", True),
        ("x, parts", False),
        ("[x, 1]", False),
        ("x, len(parts)", True),
    ],
)
def test_a_part_of_what_a_helper_gives(returned, known):
    site = site_of(
        f"""
        def targets(x: torch.Tensor, parts):
            if not parts:
                return None
            return {returned}

        def loss(x: torch.Tensor, parts):
            found = targets(x, parts)
            labels, count = found
            return torch.tensor(count, device=x.device)
        """,
        "torch.tensor(count, device=x.device)",
    )
    assert is_host_number(site.file.project.values, site.call.args[0], site.frame) is known
