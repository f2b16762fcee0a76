"""What a function of the project hands back: on the device where it has moved it."""

from __future__ import annotations

import pytest
from snippets import value_of

CALLED = """
def hand_back(x, device=None):
    {body}

def train(model, data, optimizer):
    for x, n in torch.utils.data.DataLoader(data):
        use(hand_back(n))
        model(x).sum().backward()
"""


@pytest.mark.parametrize(
    ("body", "device"),
    [
        ("x = x.cuda(non_blocking=True); return x", "device"),
        ("x = x.float(); x = x.to('cuda'); return x", "device"),
        ("x = x.cuda(); return torch.autograd.Variable(x)", "device"),
        ("if torch.cuda.is_available(): x = x.cuda()\n    return x", "anywhere"),
        ("x = x.contiguous(); return x", "host"),
        ("x = x.to(torch.float16); return x", "host"),
        ("x = x.to('cpu'); return x", "host"),
        ("y = x.cuda(); use(y); return x", "host"),
    ],
)
def test_what_a_helper_has_moved_is_there(body, device):
    value = value_of(CALLED.format(body=body), "hand_back(n)")
    assert value.device == device
