"""A lambda reads what its scope binds below it."""

from __future__ import annotations

import pytest
from snippets import value_of

MODULE = """
{before}
to_db = lambda x: torch.log(x) / torch.log(torch.Tensor([10.0]).to(place))
{after}
"""
DEVICE = "place = torch.device('cuda')"


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("", DEVICE, "torch_device"),
        (DEVICE, "", "torch_device"),
        ("", "", "unknown"),
        ("place = 3", DEVICE, "plain"),  # bound above: what a later binding makes of it is another question
    ],
)
def test_a_name_that_the_module_binds_later(before, after, kind):
    assert value_of(MODULE.format(before=before, after=after), "place").kind == kind


def test_what_is_no_lambda_runs_before():
    assert value_of(f"print(place)\n{DEVICE}", "place").kind != "torch_device"


def test_a_lambda_within_a_function():
    code = """
    def build(n):
        move = lambda x: x.to(place)
        place = torch.device("cuda")
        return move
    """
    assert value_of(code, "place").kind == "torch_device"
