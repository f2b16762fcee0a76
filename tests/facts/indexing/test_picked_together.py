"""What a list picks one by one, by the elements of an index, one subscript picks at once."""

from __future__ import annotations

import ast

import pytest
from calls_in import site_of

from torchperf_lint.facts.indexing.picked_together import picked_together


@pytest.mark.parametrize(
    ("call", "at_once"),
    [
        ("torch.stack([x[:, best[i]] for i in range(k)], dim=1)", "x[:, best[:k]]"),
        ("torch.stack([x[:, best[i]] for i in range(k)], dim=-1)", None),
        ("torch.stack([x[:, best[i]] for i in range(k)])", None),
        ("torch.stack([x[best[i]] for i in range(k)], dim=1)", None),
        ("torch.stack([x[best[i]] for i in range(1, k)])", None),
        ("torch.vstack([x[best[i]] for i in range(k)])", None),
        ("torch.stack([x[best[i]] for i in range(k)])", "x[best[:k]]"),
        ("torch.stack(tuple(x[best[i]] for i in range(k)))", None),
        ("torch.stack([self.x[:, :, best[i]] for i in range(k)], 2)", "self.x[:, :, best[:k]]"),
        ("torch.stack([x[i, best[i]] for i in range(k)], dim=-1)", None),
        ("torch.stack([x[:, best[i]:] for i in range(k)], dim=-1)", None),
        ("torch.stack([x[:n, best[i]] for i in range(k)], dim=-1)", None),
        ("torch.stack([x[i][best[i]] for i in range(k)], dim=-1)", None),
        ("torch.stack([x[:, best[i]] for i in range(k) if i], dim=-1)", None),
        ("torch.stack([x[:, best[i]] for i in order], dim=-1)", None),
        ("torch.stack([x[:, best[j]] for i in range(k)], dim=-1)", None),
        ("torch.cat([x[:, best[i]] for i in range(k)], dim=-1)", None),
    ],
)
def test_by_how_the_list_picks(call, at_once):
    site = site_of(f"def pick(self, x, best, k, n, order, j):\n    return {call}\n", call)
    texts = ("best[i]", "best[j]")
    operand = next(n for n in ast.walk(site.call) if isinstance(n, ast.Subscript) and ast.unparse(n) in texts)
    assert picked_together(site, operand) == at_once
