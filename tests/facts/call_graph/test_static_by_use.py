"""Methods without `self` that are called by the name of their class."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project

SCALER = """\
class Scaler:
    def overflow(self, params):
        return any({call}(p.grad) for p in params)

    def is_bad({parameter}):
        return float({parameter}.sum())
"""


@pytest.mark.parametrize(
    ("call", "parameter", "static"),
    [
        ("Scaler.is_bad", "x", True),
        ("Scaler.is_bad", "self", False),
        ("self.is_bad", "x", False),
    ],
)
def test_a_method_is_static_that_is_called_as_one(call, parameter, static):
    files = texts(SCALER.format(call=call, parameter=parameter))
    (function,) = (f for f in Project.of_texts(files).index.outlines["a.py"].functions if f.name == "is_bad")
    assert ("staticmethod" in function.decorators) is static
