"""Attributes whose method has just assigned them."""

from __future__ import annotations

import pytest
from snippets import value_of

CODE = """
class Trainer:
    def __init__(self, net):
        self.net, self.image = net, None

    def fill(self):
        self.image = torch.zeros(3)

    def refill(self):
        self.fill()

    def show(self):
        print(self.net)

    def place(self):
        self.image = self.image.cuda()

    def set_input(self, data, on_gpu):
        {first}
        {then}
        last(self.image.shape)
"""


@pytest.mark.parametrize(
    ("first", "then", "where"),
    [
        ("self.image = torch.ones(3)", "self.show()", "host"),
        ("self.image = torch.ones(3)", "self.image = self.image.cuda()", "device"),
        ("self.image, self.label = torch.ones(3), 0", "self.net(self.image)", "host"),
        ("self.image = torch.ones(3)", "for _ in data: self.show()", "host"),
        ("self.image = self.image.cuda()", "self.show()", "device"),
        ("if on_gpu: self.image = torch.ones(3)", "else: self.image = torch.zeros(3)", "host"),
        # The rest is as open as all that the class assigns.
        ("self.image = torch.ones(3)", "if on_gpu: self.image = self.image.cuda()", "anywhere"),
        ("self.image = torch.ones(3)", "for _ in data: self.image = self.image.cuda()", "anywhere"),
        ("self.image = torch.ones(3)", "self.place()", "anywhere"),
        ("self.image = torch.ones(3)", "self.refill()", "anywhere"),
        ("self.image = torch.ones(3)", "move(self)", "anywhere"),
        ("if on_gpu: self.image = torch.ones(3)", "self.show()", "anywhere"),
        ("self.image = torch.ones(3)", "self.image += data", "anywhere"),
    ],
)
def test_an_attribute_after_its_assignment(first: str, then: str, where: str):
    value = value_of(CODE.format(first=first, then=then), "self.image")
    assert (value.kind, value.device) == ("tensor", where)


def test_a_hook_may_set_what_begins_as_nothing():
    code = CODE.format(first="self.image = None", then="self.net(data)")
    assert value_of(code, "self.image").kind == "tensor"


def test_a_setter_decides_what_is_kept():
    code = CODE.format(first="self.image = torch.ones(3)", then="self.show()")
    code += """
    @property
    def image(self):
        return self.kept.cuda()
"""
    assert value_of(code, "self.image").device != "host"
