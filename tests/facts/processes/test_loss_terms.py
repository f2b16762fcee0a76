"""The terms of a loss, what holds them, and what becomes of a result."""

from __future__ import annotations

import ast

import pytest

from torchperf_lint.facts.processes.loss_terms import bound_before, made_from, only_ends, run_backward, terms_of


@pytest.mark.parametrize(
    ("code", "terms"),
    [
        ("loss = a + 0.5 * b", {"a", "b"}),
        ("loss = sum(d.values())", {"d"}),
        ("loss = sum(d[k] * w[k] for k in d.keys() if k in w)", {"d", "w"}),
        ("loss = sum(v for v in d.values())", {"d"}),
        ("loss = d['total'] / steps", {"d"}),
        ("loss = a.mean() - b", {"a", "b"}),
        ("loss = net(x)", set()),
        ("loss = (out - mean).square()", set()),
        ("loss = a / tokens", {"a"}),
        ("part = a + b\nloss = part", {"a", "b", "part"}),
        ("loss = a + b\ntold = {'a': a.detach(), 'n': 3}", {"a", "b", "told"}),
        ("loss = a + b\ntold['a'] = a.item()", {"a", "b", "told"}),
        ("loss = a + b\ntold = {'c': c}", {"a", "b"}),
        ("loss += a", {"a"}),
    ],
)
def test_what_a_loss_is_the_sum_of(code, terms):
    assert terms_of(ast.parse(code), {"loss"}) == {"loss"} | terms


def test_what_is_made_of_a_result():
    code = "before = shown\nshown = reduce(loss)\nvalue = shown.item()\nlast, other = value, 3\nd['x'] = value"
    assert made_from(ast.parse(code), {"shown"}, 2) == {"shown", "value", "last", "other"}


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("sum(d.values()).backward()", {"d"}),
        ("(a + b).backward()", {"a", "b"}),
        ("scaler.scale(loss).backward()", {"loss"}),
        ("accelerator.backward(loss / n)", {"loss"}),
        ("net(x).backward()", set()),
    ],
)
def test_what_is_added_up_for_a_backward_pass(code, names):
    assert run_backward(ast.parse(code)) == names


def test_what_is_bound_above_a_call():
    tree = ast.parse("a, b = net(x)\nc = d = 3\ne['x'] = 2\nf(a)\ng = 4")
    assert bound_before(tree, tree.body[3].value) == {"a", "b", "c", "d"}


@pytest.mark.parametrize(
    ("code", "ends"),
    [
        ("if not math.isfinite(x): sys.exit(1)", True),
        ("if isnan(x):\n    print(x)\n    raise ValueError(x)", True),
        ("if not math.isfinite(x): continue", False),
        ("if x > 3: sys.exit(1)", False),
        ("if not math.isfinite(x): print(x)", False),
    ],
)
def test_branches_that_only_end_the_program(code, ends):
    branch = ast.parse(f"for _ in y:\n    {code}").body[0].body[0] if "\n" not in code else ast.parse(code).body[0]
    assert only_ends(branch) is ends
