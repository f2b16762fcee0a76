"""Branches that do nothing where a mask is empty."""

from __future__ import annotations

import ast

import pytest

from torchperf_lint.facts.outlines.masking import Known, asks_if_empty


def asked(source):
    """The answer for the first call in the test of an `if`."""
    node, *rest = ast.parse(source).body
    assert isinstance(node, ast.If)
    first = next(n for n in ast.walk(node.test) if isinstance(n, ast.Call | ast.Compare))
    known = Known(lambda name: name, lambda value: isinstance(value, ast.Constant))
    return asks_if_empty(node, first, known, rest)


@pytest.mark.parametrize(
    "source",
    [
        "if m.any(): x[m] = 0",
        "if torch.any(m): x[:, m] = 1",
        "if m.any(): x[m] = y[m]",
        "if m.any(): x[m] = 2 * y[m] - z.mean[m]",
        "if m.any(): x[m] += 1",
        "if m.any(): x[m] *= (e[m] / n[m].clamp(min=e[m])).view(-1, 1)",
        "if m.any(): x[m] = y[m].abs().sqrt()",
        "if torch.any(~m): x[~m] *= y[~m]",
        "if bool(m.any().item()): x = torch.where(m, a, x)",
        "if flag and m.any(): x[0] = torch.where(m[:, None], a, b)",
        "if m.sum() > 0: x = x.masked_fill(m.unsqueeze(-1), 0)",
        "if m.sum().item() >= 1: x.masked_fill_(m, 0)",
        "if not m.all(): x[~m] = 0",
        "if (x < 0).any(): x[x < 0] = 0",
        "if m.any(): x = x & ~m",
        "if m.any(): done |= m.view(-1)",
        "if m.any():\n  part = a.clamp(min=self.get_epsilon())\n  x = torch.where(m, part, x)",
        "if not m.any(): return x\nx[m] = 0\nreturn x",
        "if m.sum() == 0: continue\nx[m] = 0",
        "if m.all(): return x\npart = x.mean()\nx = torch.where(~m, part, x)\nreturn x",
    ],
)
def test_nothing_is_left_out(source):
    assert asked(source)


@pytest.mark.parametrize(
    "source",
    [
        "if m.any(): x[m] = self.expert(x[m])",
        "if m.any(): x[m] = y",
        "if m.any(): x[m] = y[other]",
        "if m.any(): x[m] = y[m].cumsum(0)",
        "if m.any(): x[m] = y[m].clamp(min=y.mean())",
        "if m.any(): x[m] = torch.sqrt(y)",
        "if m.any():\n  part = a[m].clamp(min=self.get_epsilon())\n  x[m] = part",
        "if m.any(): x[m] = expert(x[m])",
        "if m.any(): x = x + 1",
        "if m.any(): part = x[m]",
        "if m.any():\n  x[m] = 0\nelse:\n  x = x + 1",
        "if m.any() or flag: x[m] = 0",
        "if m.all(): x[m] = 0",
        "if not m.any(): x[~m] = 0",
        "if not m.all(): bias = torch.where(m, 0, 1)",
        "if m.any(): y = torch.where(m, a, x)",
        "if m.any(): x[other] = 0",
        "if m.any(dim=1): x[m] = 0",
        "if m.sum() > 3: x[m] = 0",
        "if m.any():\n  x[m] = 0\n  return x",
        "if m.any(): x = other & ~m",
        "if m.any(): x = torch.where(m, x, a)",
        "if not m.any(): return None\nx[m] = 0\nreturn x",
        "if not m.any(): continue\nx[m] = 0\nlosses.append(f(x))",
        "if not m.any(): return x\nreturn x",
        "if m.any(): return x\nx[m] = 0\nreturn x",
        "if not m.any() or flag: return x\nx[m] = 0\nreturn x",
    ],
)
def test_something_is_left_out(source):
    assert not asked(source)


@pytest.mark.parametrize(
    ("kept", "block", "expected"),
    [
        ("torch.sum(x.eq(y), 1)", "out[n > 0] = 1", True),
        ("(x == y).sum(1)", "out[n != 0] = 1", True),
        ("torch.count_nonzero(x, 1)", "out[n > 0] = 1", True),
        ("torch.count_nonzero(x, 1)", "out[n > 1] = 1", False),
        ("(x - y).sum(1)", "out[n > 0] = 1", False),
        ("torch.sum(x, 1)", "out[n > 0] = 1", False),
    ],
)
def test_a_count_of_what_is_set_is_above_zero_or_not(kept, block, expected):
    bound = ast.parse(kept, mode="eval").body
    node = ast.parse(f"if torch.sum(n) > 0: {block}").body[0]
    assert isinstance(node, ast.If)
    assert isinstance(node.test, ast.Compare)
    known = Known(lambda name: bound if name.id == "n" else name, lambda value: isinstance(value, ast.Constant))
    assert asks_if_empty(node, node.test.left, known) == expected


@pytest.mark.parametrize(("value", "nothing"), [("1.0 / x.size(1)", True), ("1.0 / x.sum()", False)])
def test_a_fill_by_a_number_that_a_call_gives(value, nothing):
    node = ast.parse(f"if m.any(): x[m] = {value}").body[0]
    known = Known(lambda name: name, lambda part: isinstance(part, ast.Constant) or "size" in ast.unparse(part))
    assert asks_if_empty(node, node.test, known) is nothing
