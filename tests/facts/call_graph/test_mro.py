"""Bases are looked through in Python's own order, and properties of other files are run by reading them."""

from __future__ import annotations

import pytest
from snippets import hot_at

from torchperf_lint.facts.call_graph.mro import resolution_order

DIAMOND = {"D": "BC", "B": "A", "C": "A", "A": ""}
LATE = {"E": "DB", "D": "C", "C": "A", "B": "A", "A": ""}
REFUSED = {"D": "BC", "B": "XY", "C": "YX", "X": "", "Y": ""}
ITSELF = {"A": "AB", "B": "A"}


@pytest.mark.parametrize(
    ("bases", "order"), [(DIAMOND, "DBCA"), (LATE, "EDCBA"), (REFUSED, "DBCXY"), (ITSELF, "AB"), ({"A": ""}, "A")]
)
def test_the_order_is_that_of_python(bases, order):
    assert "".join(resolution_order(order[0], lambda c: list(bases[c]))) == order


BASE = """
class Base(nn.Module):
    @property
    def positions(self):
        return torch.tensor([0], device=self.where)  {base}


class Covariates(nn.Module):
    @property
    def positions(self):
        return torch.tensor(self.order, device=self.where)  {other}


class Both(Covariates, Base):
    pass
"""
READER = "from base import {cls}\n\n\nclass Net({cls}):\n    def forward(self, x):\n        return x[{read}]\n"


def hot(cls, read="self.positions", base="", other=""):
    return hot_at({"base.py": BASE.format(base=base, other=other), "net.py": READER.format(cls=cls, read=read)})


def test_a_property_of_another_file_runs_where_it_is_read():
    assert hot("Base", base="# <-") is not None
    assert hot("Both", other="# <-") is not None


def test_the_property_of_a_base_that_is_hidden_does_not_run():
    assert hot("Both", base="# <-") is None


def test_an_attribute_by_the_name_of_a_property_elsewhere_runs_nothing():
    own = READER.format(cls="Base", read="self.positions").replace(
        "    def forward", "    positions = 3\n\n    def forward"
    )
    assert hot_at({"base.py": BASE.format(base="# <-", other=""), "net.py": own}) is None


TRACED = """
def _is_tracing_or_exporting():
    return torch.jit.is_tracing()


def closed_form(x):
    return torch.tensor([1.0, 2.0], device=x.device)  # <-


class Net(nn.Module):
    def forward(self, x):
        if {test}:
            return closed_form(x)
        return x
"""


@pytest.mark.parametrize("test", ["_is_tracing_or_exporting() and x.ndim == 3", "torch.jit.is_tracing()"])
def test_what_runs_while_a_graph_is_traced_is_no_step(test):
    assert hot_at(TRACED.format(test=test)) is None
    assert hot_at(TRACED.format(test=f"not ({test})" if " and " not in test else "x.ndim == 3")) is not None
