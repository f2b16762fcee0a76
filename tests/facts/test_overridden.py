"""Parameters of methods that override annotated ones."""

from __future__ import annotations

import pytest
from snippets import value_of

BASE = "class Processor:\n    def __call__(self, ids: {hint}, scores):\n        raise NotImplementedError\n\n\n"
OWN = "class Own(Processor):\n    def __call__(self, ids, scores):\n        return ids\n"


@pytest.mark.parametrize("hint", ["torch.Tensor", "torch.LongTensor"])
def test_the_base_promises_a_tensor(hint):
    assert value_of(BASE.format(hint=hint) + OWN, "ids").kind == "tensor"


def test_a_class_between_changes_nothing():
    between = "class Middle(Processor):\n    def other(self):\n        return 1\n\n\n"
    assert value_of(
        BASE.format(hint="torch.Tensor") + between + OWN.replace("(Processor)", "(Middle)"), "ids"
    ).on_device


@pytest.mark.parametrize("hint", ["list[int]", "str"])
def test_other_promises_say_nothing(hint):
    assert value_of(BASE.format(hint=hint) + OWN, "ids").kind == "unknown"
