"""Objects whose class an `assert` or an `if` tells."""

from __future__ import annotations

import pytest
from snippets import value_of

CODE = """
class Plan:
    def __init__(self):
        self.table = torch.ones(3)


class Moved(Plan):
    def __init__(self):
        self.table = torch.ones(3).cuda()


def use(plan, other):
    {test}
    {then}
    return plan.table
"""


@pytest.mark.parametrize(
    ("test", "then", "device"),
    [
        ("assert isinstance(plan, Plan)", "pass", "host"),
        ("assert other and isinstance(plan, Moved), other", "pass", "device"),
        ("if isinstance(plan, Plan): pass", "assert isinstance(other, Plan)", None),
        ("assert not isinstance(plan, Plan)", "pass", None),
        ("assert isinstance(plan, (Plan, Moved))", "pass", None),
        ("assert isinstance(plan, Plan)", "plan = other(plan)", None),
        ("plan = Moved()", "assert isinstance(plan, Plan)", "device"),
    ],
)
def test_a_class_that_is_asserted(test: str, then: str, device: str | None):
    value = value_of(CODE.format(test=test, then=then), "plan.table")
    assert (value.device if value.kind == "tensor" else None) == device


@pytest.mark.parametrize(("takes", "device"), [("x", "host"), ("x, plan", None)])
def test_a_function_inside_knows_what_the_one_around_asserts(takes: str, device: str | None):
    inside = f"def inner({takes}):\n        return plan.table * x\n    return inner"
    code = CODE.format(test="assert isinstance(plan, Plan)", then=inside).rpartition("    return plan.table")[0]
    value = value_of(code, "plan.table")
    assert (value.device if value.kind == "tensor" else None) == device


def test_asserted_tensors_are_tensors_until_the_name_is_bound_anew():
    code = "def f(x, y):\n    assert isinstance(x, torch.Tensor)\n    see(x)\n    {}\n    see(x)"
    assert value_of(code.format("pass"), "x").kind == "tensor"
    assert value_of(code.format("x = y.whatever"), "x").kind == "unknown"


def test_what_a_mixin_asserts_of_its_own_object_does_not_hide_its_attributes():
    mixin = """
        class Base:
            pass

        class Wrapped:
            def __init__(self):
                self.table = torch.ones(3)

            def wrap(self):
                assert isinstance(self, Base)
                return self.table
    """
    assert value_of(mixin, "self.table").kind == "tensor"

LEFT = """
class Meter(nn.Module):
    def forward(self, predicted: torch.Tensor):
        out = predicted.mean().cuda()
        if {test}:
            return 0.0
        return [out]
"""


@pytest.mark.parametrize(
    ("test", "kind"),
    [
        ("isinstance(out, Iterable)", "unknown"),
        ("isinstance(out, (list, Sized))", "unknown"),
        ("isinstance(out, Mapping)", "tensor"),
        ("isinstance(out, (list, tuple))", "tensor"),
        ("isinstance(out, IterableDataset)", "tensor"),
    ],
)
def test_what_is_left_where_every_tensor_has_gone(test: str, kind: str):
    assert value_of(LEFT.format(test=test), "out").kind == kind
