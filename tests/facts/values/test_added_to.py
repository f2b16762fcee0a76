"""Attributes that begin as numbers, and that tensors are added to."""

from __future__ import annotations

import pytest
from snippets import value_of

COUNTER = """\
class Trainer:
    def __init__(self):
        self.tokens = 0

    def step(self, y):
        {before}
        return self.tokens * 1
"""


@pytest.mark.parametrize(
    ("before", "kind"),
    [
        ("self.tokens += (y.cuda() >= 0).sum()", "tensor"),
        ("self.tokens += len(y)", "plain"),
        ("self.tokens += (y.cuda() >= 0).sum(); self.tokens = 0", "plain"),
        ("self.others += (y.cuda() >= 0).sum()", "plain"),
    ],
)
def test_a_number_to_which_a_tensor_is_added_is_one(before, kind):
    text = COUNTER.format(before=before.replace("; ", "\n        "))
    assert value_of(text, "self.tokens * 1").kind == kind
