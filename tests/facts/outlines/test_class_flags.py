"""Flags of a class that are never up."""

from __future__ import annotations

import pytest
from snippets import hot_at

REFUSED = """
class Cost(nn.Module):
    def __init__(self, huber=False, other=False):
        self.huber = {kept}
        if huber:
            {answer}

    def forward(self, x):
        if {test}:
            x = x * x.max().item()  # <-
        return x
"""


@pytest.mark.parametrize(
    ("kept", "answer", "test", "hot"),
    [
        ("huber", "raise NotImplementedError", "self.huber", False),
        ("huber", "raise NotImplementedError('not yet')", "self.huber and x.ndim > 1", False),
        ("huber", "raise NotImplementedError", "not self.huber", True),
        ("huber", "raise NotImplementedError", "self.huber or x.ndim > 1", True),
        ("huber", "print('slow')", "self.huber", True),
        ("other", "raise NotImplementedError", "self.huber", True),
    ],
)
def test_what_the_constructor_refuses(kept, answer, test, hot):
    assert (hot_at(REFUSED.format(kept=kept, answer=answer, test=test)) is not None) is hot


FLAG = """
class Quantizer(nn.Module):
    native = {default}

    def forward(self, x):
        if not {asked}.native:
            return x
        else:
            return x * x.max().item()  # <-

    def switch(self):
        {switch}
"""


@pytest.mark.parametrize(
    ("default", "asked", "switch", "hot"),
    [
        ("False", "Quantizer", "pass", False),
        ("True", "Quantizer", "pass", True),
        ("False", "Quantizer", "Quantizer.native = True", True),
        ("False", "self", "pass", True),
    ],
)
def test_a_flag_of_the_class_that_nothing_raises(default, asked, switch, hot):
    assert (hot_at(FLAG.format(default=default, asked=asked, switch=switch)) is not None) is hot
