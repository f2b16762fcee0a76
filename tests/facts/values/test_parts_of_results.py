"""Fields of records and elements of what helpers return, which were made of numbers on the host."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.copies.computed import computed_fresh, computed_upload

MADE = """\
from dataclasses import dataclass
from typing import NamedTuple

class Filters(NamedTuple):
    low: torch.Tensor
    high: torch.Tensor

    @classmethod
    def of(cls, order):
        return cls(torch.tensor([0.5, 0.5]), high=torch.tensor([0.5, -0.5]))

@dataclass
class Tables:
    low: torch.Tensor
    high: torch.Tensor

class Base:
    pass

@dataclass
class Longer(Base):
    low: torch.Tensor
    high: torch.Tensor

class Counted:
    low: torch.Tensor
    high: torch.Tensor

    def __init__(self, high, low):
        self.low, self.high = low, high

def tables(n):
    t = torch.arange(n)
    return Tables(torch.cos(t), torch.sin(t))

def pair():
    return torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])

def either(n):
    if n > 3:
        return Filters.of(n)
    return Filters(torch.tensor([1.0]), torch.tensor([2.0]))

def given(low, a):
    return Filters(low, a)

def spread(several):
    return *several, torch.tensor([1.0])
"""


def moved(body, call):
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return site_of(f"{MADE}\ndef f(x: torch.Tensor, a, n: int):\n{lines}\n    return {call}\n", call)


@pytest.mark.parametrize(
    ("body", "call"),
    [
        ("low, high = pair()", "high.to(x.device)"),
        ("r = Filters.of(3)", "r.high.to(x.device)"),
        ("r = Filters(torch.tensor([1.0]), torch.tensor([2.0]))", "r.low.to(x.device)"),
        ("r = either(n)", "r.high.to(x.device)"),
        ("if n > 1:\n    r = Filters.of(3)\nelse:\n    r = either(n)", "r.low.to(x.device)"),
        ("r = Tables(high=torch.tensor([1.0]), low=torch.tensor([2.0]))", "r.low.to(x.device)"),
    ],
)
def test_parts_made_of_numbers_are_uploaded_again(body, call):
    site = moved(body, call)
    upload = computed_upload(site.file.project.values, site.call, site.frame)
    assert upload is not None
    assert upload.device == "x.device"


@pytest.mark.parametrize(
    ("body", "call"),
    [
        ("r = tables(n)", "r.low.to(x.device)"),
        ("t = torch.arange(n)\nr = Filters(t + 1, t * 2)", "r.high.to(x.device)"),
    ],
)
def test_parts_made_of_sizes_can_be_made_on_the_device(body, call):
    site = moved(body, call)
    assert computed_fresh(site.file.project.values, site.call, site.frame) is not None


@pytest.mark.parametrize(
    ("body", "call"),
    [
        ("r = given(a, torch.tensor([1.0]))", "r.low.to(x.device)"),  # what a caller hands in
        ("r = Filters(a, torch.tensor([1.0]))", "r.low.to(x.device)"),
        ("r = Filters.of(3)\nif n:\n    r = a", "r.low.to(x.device)"),
        ("r = Counted(torch.tensor([1.0]), a)", "r.low.to(x.device)"),  # takes them in another order
        ("r = Longer(torch.tensor([1.0]), torch.tensor([2.0]))", "r.low.to(x.device)"),  # its base may have fields
        ("r = Filters(*a)", "r.low.to(x.device)"),
        ("one, low = spread(a)", "low.to(x.device)"),
        ("r = Filters.of(3)\nr = Filters(r.low.to(x.device), r.high.to(x.device))", "r.low.to(x.device)"),  # there
    ],
)
def test_parts_that_may_be_anything_else_are_not_told(body, call):
    site = moved(body, call)
    values = site.file.project.values
    assert computed_upload(values, site.call, site.frame) is None
    assert computed_fresh(values, site.call, site.frame) is None
