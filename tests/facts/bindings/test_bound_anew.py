"""What a name stands for where a comprehension, or a branch, has bound it anew."""

from __future__ import annotations

import pytest
from snippets import value_of


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("y = [x.flip(0) for x in x]\n    z = y[0]", "tensor"),
        ("y = {x: x.flip(0) for x in list(x)}\n    z = y[0]", "tensor"),
        ("y = [x for x in [x.item() for x in x]]\n    z = y[0]", "plain"),
        ("y = [x for x in other(3)]\n    z = y[0]", "unknown"),
    ],
)
def test_what_a_comprehension_goes_through_is_outside_of_it(body, kind):
    code = f"def f():\n    x = [torch.zeros(3).cuda() for _ in range(3)]\n    {body}\n    return z\n"
    assert value_of(code, "z").kind == kind


BRANCH = """
def bake(masks, way):
    masks = [torch.tensor(m > 0).cuda() for m in masks]
    if way:
        {first}
        for step in range(100):
            y = masks[3]
            print(y)


def call(pictures):
    bake([np.any(p > 0, axis=-1) for p in pictures], True)
"""


@pytest.mark.parametrize("first", ["masks = [m.flip(0) for m in masks]", "masks = [masks.flip(0) for masks in masks]"])
def test_what_a_branch_has_bound_anew_is_not_what_was_given(first):
    assert value_of(BRANCH.format(first=first), "y").kind == "tensor"


def test_what_a_turn_binds_below_was_not_there_in_the_first_turn():
    code = """
    def train(net: nn.Module, loader):
        for x in loader:
            print(net)
            net = other(net)
    """
    assert value_of(code, "net").kind == "module"
