"""Which values decide what a function does next, and which are only asked for their shape."""

from __future__ import annotations

import ast

import pytest

from torchperf_lint.facts.bindings.deciding import decisive_names


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if x > 3: f()", True),
        ("if f(x).sum() == 0: f()", True),
        ("y = x + 1\nz = y\nwhile z: f()", True),
        ("w[x]", True),
        ("torch.zeros(x)", True),
        ("w.view(x, 2)", True),
        ("torch.bincount(w, minlength=x)", True),
        ("x.y = w\nif x.y > 3: f()", True),
        ("if x in w: f()", True),
        ("w = [x]\nif 3 in w: f()", True),
        ("if torch.equal(x, w): f()", True),
        ("if x.shape[0] != w.size(0): f()", False),
        ("y = float(x)\nif y == float('inf') or y == -float('inf') or y != y: f()", False),
        ("if len(x) > 3 or x.dtype == w or x.dim() == 2: f()", False),
        ("if x is None or isinstance(x, int): f()", False),
        ("if np.ndim(x) != 1 or np.shape(x) == w: f()", False),
        ("n = x.shape[0]\nif n > 3: f()", False),
        ("w[i] = x\nif i > 3: f()", False),
        ("w[i] = x\nif i in w: f()", False),
        ("self.w = x\nif self.v: f()", False),
        ("torch.bincount(x, minlength=w)", False),
        ("torch.split(x, w)", False),
        ("F.interpolate(x, size=w)", False),
        ("if w < x: w = x", False),
        ("if x > w: x = w", False),
        ("if w < x:\n  w = x\n  f()", True),
        ("if x > w: raise ValueError", False),
        ("y = '{:.3f}'.format(x) if x > 1e-3 else f'{x:.1e}'", False),
        ("y = '%.3f' % x if x > 1e-3 else '%.1e' % x", False),
        ("y = f(x) if x > 1e-3 else f'{x:.1e}'", True),
        ("y = 'big' if x > 3 else 'small'", True),
        ("y = w / x if x > 0 else 0.0", False),
        ("if x > 0:\n  y = w / x\nelse:\n  y = 0.0", False),
        ("y = w / x if x > 3 else 0.0", True),
        ("y = f(w) / x if x > 0 else 0.0", True),
        ("y = w if x > 0 else 0.0", True),
        ("if x > 0:\n  y = w / x\n  f(y)", True),
    ],
)
def test_decisive_names(body, expected):
    assert ("x" in decisive_names(ast.parse(body).body)) == expected


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
    assert "value" in decisive_names(ast.parse(code).body)


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
    assert "value" not in decisive_names(ast.parse(code).body)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("w[x]", False),
        ("w = v[np.arange(n), x]", False),
        ("w[:x]", True),
        ("if x > 3: f()", True),
        ("w = x.max()\nv[:, :w]", True),
    ],
)
def test_what_a_whole_array_decides(body, expected):
    assert ("x" in decisive_names(ast.parse(body).body, indices=False)) is expected


def test_a_bar_is_not_made_of_what_it_shows():
    body = "for i in bar:\n  bar.text = f'{x}'\n  if i > 3: f()"
    assert "x" not in decisive_names(ast.parse(body).body)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if limit is not None and x > limit: stop()", False),
        ("if self.limit is not None and x > 1.5 * self.limit: stop()", False),
        ("if limit and x > limit: stop()", False),
        ("if other is not None and x > other: stop()", True),
        ("if limit is not None or x > 3: stop()", True),
        ("if limit is not None and x > limit: stop()\nif x > 3: stop()", True),
        ("if limit is None and x > 3: stop()", True),
    ],
)
def test_what_is_off_by_default_decides_nothing(body, expected):
    names = decisive_names(ast.parse(body).body, unset=frozenset({"limit", "self.limit"}))
    assert ("x" in names) == expected
