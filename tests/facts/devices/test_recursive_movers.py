"""Functions that move what they are given part by part, calling themselves."""

from __future__ import annotations

import pytest
from snippets import value_of

from torchperf_lint.facts.values.value import DEVICE

PROGRAM = """
    DEVICE = torch.device("cuda")

    def move(data, device):
        if isinstance(data, dict):
            return {{name: move(part, device) for name, part in data.items()}}
        if isinstance(data, (list, tuple)):
            return [move(part, device) for part in data]
        {moves}

    def train(dataset, model):
        for batch in DataLoader(dataset):
            batch = move(batch, {device})
            x, y = batch
            print(y)
"""


@pytest.mark.parametrize(
    ("moves", "device", "there"),
    [
        ("return data.to(device, non_blocking=True)", "DEVICE", True),
        ("return data.to(device) if torch.is_tensor(data) else data", "DEVICE", True),
        ("return data.cuda()", "DEVICE", True),
        ("return data.to(device)", "torch.device('cpu')", False),
        ("return data.tolist()", "DEVICE", False),
    ],
)
def test_what_such_a_function_gives_is_where_it_moves_it(moves, device, there):
    value = value_of(PROGRAM.format(moves=moves, device=device), "y")
    assert (value.on_device and value.device == DEVICE) is there
