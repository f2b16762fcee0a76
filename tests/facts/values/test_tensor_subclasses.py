"""What only the project's own subclass of tensors has is no tensor where the subclass says so."""

from __future__ import annotations

import pytest
from snippets import value_of

PARAMETER = """
    class Tied(nn.Parameter):
        def ranks(self):
            return [0, 1]

        @property
        def title(self):
            return "tied"

        def doubled(self):
            return torch.cat([self, self])

    {more}

    def step(model: nn.Module):
        for p in model.parameters():
            print(p.ranks(), p.title, p.doubled(), p.norm(), p.grad)
"""


def kind_of(expression: str, more: str = "") -> str:
    return value_of(PARAMETER.format(more=more), expression).kind


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("p.ranks()", "sequence"),
        ("p.title", "plain"),
        ("p.doubled()", "tensor"),
        ("p.norm()", "tensor"),
        ("p.grad", "tensor"),
    ],
)
def test_methods_and_properties_of_the_subclass(expression: str, kind: str):
    assert kind_of(expression) == kind


def test_where_several_define_it_nothing_is_said():
    other = "class Split(torch.Tensor):\n        def ranks(self):\n            return self.sum()"
    assert kind_of("p.ranks()", other) != "sequence"


def test_a_class_of_another_kind_says_nothing_of_tensors():
    other = "class Group:\n        def norm(self):\n            return [1]"
    assert kind_of("p.norm()", other) == "tensor"
