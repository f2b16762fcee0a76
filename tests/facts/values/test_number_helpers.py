"""What helpers that read a tensor give is a number, what hands it through is not."""

from __future__ import annotations

import pytest
from snippets import value_of

CODE = """
def helper(x, read=True):
{}

def f(model, device):
    loss = model.to(device)(torch.zeros(3, device=device)).sum()
    y = helper(loss)
    print(y)
"""

NUMBERS = [
    "    if isinstance(x, (float, int)):\n        return x\n    return x.item()",
    "    return x if isinstance(x, (int, np.floating)) else x.item()",
    "    if isinstance(x, torch.Tensor):\n        return x.item()\n    return x",
    "    if torch.is_tensor(x):\n        x = x.detach().item()\n    else:\n        x = float(x)\n    return x",
    "    if not torch.is_tensor(x):\n        return x\n    return float(x.detach().cpu())",
    "    if hasattr(x, 'item'):\n        return x.item()\n    else:\n        return x",
    "    try:\n        return x.item()\n    except AttributeError:\n        return x",
    "    if torch.__version__ < '0.4':\n        return x.data[0]\n    return x.data.item()",
    "    if torch.is_tensor(x):\n        x = x.item()\n    return x",
]
TENSORS = [
    "    if read:\n        return x.item()\n    return x",
    "    return x[0]",
    "    if isinstance(x, float):\n        return x\n    return x * 2",
    "    if read:\n        x = x.item()\n    return x",
    "    print(x.item())\n    return x",
    "    if x.dim() > 0 and read:\n        return x\n    return x.item()",
    "    if x.numel() == 1:\n        return x.item()\n    return x",
    "    if x.dim() > 0:\n        return x\n    return x.item()",
    "    return x.item() if x.ndim == 0 else x",
    "    if x.requires_grad:\n        return x\n    return x.item()",
    "    if torch.is_tensor(x) and x.dim() == 0:\n        x = x.item()\n    return x",
    "    if isinstance(x, (list, tuple)):\n        return x[0]\n    return x.item()",
    "    if isinstance(x, float):\n        return x\n    if x.dim() == 1:\n        return x[0]\n    return x.item()",
    "    if hasattr(x, 'grad'):\n        return x.item()\n    return x",
    "    if isinstance(x, torch.Tensor):\n        return x\n    return x.item()",
    "    try:\n        return x.item()\n    except Exception:\n        return x",
]


@pytest.mark.parametrize("body", NUMBERS)
def test_a_helper_that_reads(body):
    assert value_of(CODE.format(body), "y").kind == "plain"


@pytest.mark.parametrize("body", TENSORS)
def test_a_helper_that_may_hand_a_tensor_back(body):
    assert value_of(CODE.format(body), "y").kind == "tensor"


CRITERIA = """
class Squares(nn.Module):
    def forward(self, out, y):
        return ((out - y) ** 2).sum(), {first}

class Sizes(nn.Module):
    def forward(self, out, y):
        return (out - y).abs().sum(), {second}

def train(model, loader, squares):
    criterion = Squares() if squares else Sizes()
    for x, y in loader:
        loss, count = criterion(model(x.cuda()), y.cuda())
        print(loss)
        print(count)
"""


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        ("(y > 0).sum().item()", "y.sum().item()", "plain"),
        ("(y > 0).sum().item()", "y.sum()", "tensor"),
        ("y.sum()", "y.sum()", "tensor"),
    ],
)
def test_the_parts_that_each_of_two_modules_gives(first, second, kind):
    code = CRITERIA.format(first=first, second=second)
    assert value_of(code, "count").kind == kind
    assert value_of(code, "loss").kind == "tensor"
