"""Devices that a class writes down once and for all."""

from __future__ import annotations

import pytest
from snippets import value_of

CODE = """
import torch
from torch import nn


class Base(nn.Module):
    {above}


class Layer(Base):
    def __init__(self, device="cpu"):
        super().__init__()
        self.device = {device}

    def forward(self, x):
        b = torch.zeros(3).to(self.device)
        return b


class Below(Layer):
    {below}


def place(layer, device):
    {outside}
"""


@pytest.mark.parametrize(
    ("device", "changes", "where"),
    [
        ('"cpu"', {}, "host"),
        ('torch.device("cpu")', {}, "host"),
        ('"cuda"', {}, "device"),
        ("device", {}, "device"),
        ('"cpu"', {"below": "def place(self, device): self.device = device"}, "device"),
        ('"cpu"', {"above": "def place(self, device): self.device = device"}, "device"),
        ('"cpu"', {"outside": "layer.device = device"}, "device"),
    ],
)
def test_where_an_attribute_says(device: str, changes: dict[str, str], where: str):
    parts = {"above": "pass", "below": "pass", "outside": "pass", **changes}
    assert value_of(CODE.format(device=device, **parts), "b").device == where
