"""Loops over a dict that look up by what they get."""

from __future__ import annotations

import pytest
from snippets import value_of

CODE = """
    def train(model: nn.Module, loader, table):
        for x in loader:
            losses = model(x.cuda())
            for key in losses:
                print(key)  # <-
                total = {used}
"""


@pytest.mark.parametrize(
    ("used", "kind"),
    [("losses[key]", "plain"), ("losses[0]", "tensor"), ("table[key]", "tensor"), ("key.sum()", "tensor")],
)
def test_what_is_looked_up_by_is_a_key(used, kind):
    assert value_of(CODE.format(used=used), "key").kind == kind
