"""Passes of a module that are only tried out on the host: where tensors of others are, they do not say."""

from __future__ import annotations

import pytest
from snippets import value_of

from torchperf_lint.facts.values.value import ANYWHERE, HOST

LOSS = """
class Margin(nn.Module):
    def forward(self, x, labels):
        seen = labels
        return x.sum()

"""


@pytest.mark.parametrize(
    ("calls", "device"),
    [
        ("if __name__ == '__main__':\n    print(Margin()(torch.randn(3), torch.zeros(3)))", ANYWHERE),
        (
            "class Net(nn.Module):\n    def __init__(self):\n        self.n = Margin()(torch.ones(2), torch.ones(2))",
            ANYWHERE,
        ),
        ("def train(batches):\n    for x in batches:\n        Margin()(x, torch.zeros(3)).backward()", HOST),
        (
            "def train(batches):\n    for x in batches:\n        Margin()(x, torch.zeros(3)).backward()\n\n"
            "if __name__ == '__main__':\n    print(Margin()(torch.randn(3), torch.ones(3)))",
            HOST,
        ),
    ],
)
def test_where_a_parameter_is(calls, device):
    value = value_of(LOSS + calls, "labels")
    assert (value.kind, value.device) == ("tensor", device)


@pytest.mark.parametrize(
    ("block", "device"),
    [
        ("x = torch.randn(3)\n    print(attack(x))", ANYWHERE),
        ("x = torch.load('x.pt')\n    y = torch.randn(3)\n    print(attack(torch.zeros(3)))", HOST),
        ("print(attack(torch.zeros(3)))", HOST),
    ],
)
def test_a_function_that_its_file_tries_on_noise(block, device):
    source = f"def attack(x):\n    seen = x\n    return seen.sum()\n\n\nif __name__ == '__main__':\n    {block}\n"
    value = value_of(source, "seen")
    assert (value.kind, value.device) == ("tensor", device)
