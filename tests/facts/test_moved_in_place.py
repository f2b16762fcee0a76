"""Batches whose entries a statement moves to the device where they are, and entries that are moved one by one."""

from __future__ import annotations

from textwrap import indent

import pytest
from snippets import value_of

from torchperf_lint.facts.value import ANYWHERE, DEVICE, HOST

MOVERS = """
def move(batch, device, as_float=False):
    for k, v in batch.items():
        if isinstance(v, torch.Tensor):
            batch[k] = v.float().to(device) if as_float else v.to(device)

def move_some(batch, device):
    for k, v in batch.items():
        if k not in ("meta", "names"):
            batch[k] = v.to(device)

def to_float(batch, device):
    for k, v in batch.items():
        batch[k] = v.to(torch.float32)

def move_copy(batch, device):
    batch = dict(batch)
    for k, v in batch.items():
        batch[k] = v.to(device)

"""
LOOP = "def train(model: nn.Module, loader: DataLoader, device, use, steps):\n    for batch in loader:\n"
TAKEN = """
def train(model: nn.Module, loader: DataLoader, device, use, steps):
    batches = iter(loader)
    for _ in range(steps):
        batch = None
        if use:
            try:
                batch = next(batches)
            except StopIteration:
                batches = iter(loader)
                batch = next(batches)
            move(batch, device)
        y = batch["y"].max()
"""


def where(code: str, expression: str) -> str:
    """The device of what the last line of a step asks for."""
    return value_of(MOVERS + LOOP + indent(code, " " * 8) + "\n", expression).device


@pytest.mark.parametrize(
    ("code", "device"),
    [
        ("for k, v in batch.items():\n    batch[k] = v.to(device)\nmodel(batch['x'].sum())", DEVICE),
        ("for k in batch:\n    batch[k] = batch[k].cuda()\nmodel(batch['x'].sum())", DEVICE),
        ("for k in list(batch.keys()):\n    batch[k] = batch[k].cuda()\nmodel(batch['x'].sum())", DEVICE),
        ("move(batch, device)\nmodel(batch['x'].sum())", DEVICE),
        ("move(batch=batch, device=device)\nmodel(batch['x'].sum())", DEVICE),
        ("done = move(batch, device)\nmodel(batch['x'].sum())", DEVICE),
        ("batch['x'] = batch['x'].to(device)\nmodel(batch['x'].sum())", DEVICE),
        ("move_some(batch, device)\nmodel(batch['x'].sum())", ANYWHERE),
        ("model(batch['x'].sum())\nmove(batch, device)", HOST),
        ("if use:\n    move(batch, device)\nmodel(batch['x'].sum())", HOST),
        ("move(batch, device)\nbatch = next(iter(loader))\nmodel(batch['x'].sum())", HOST),
        ("move(batch, 'cpu')\nmodel(batch['x'].sum())", HOST),
        ("to_float(batch, device)\nmodel(batch['x'].sum())", HOST),
        ("move_copy(batch, device)\nmodel(batch['x'].sum())", HOST),
        ("other = dict(batch)\nfor k, v in batch.items():\n    other[k] = v.to(device)\nmodel(batch['x'].sum())", HOST),
        ("batch['y'] = batch['y'].to(device)\nmodel(batch['x'].sum())", HOST),
        ("if use:\n    batch['x'] = batch['x'].to(device)\nmodel(batch['x'].sum())", HOST),
    ],
)
def test_entries_moved_in_place(code, device):
    assert where(code, "batch['x'].sum()") == device


def test_a_dict_in_the_dict_is_left_where_it_is():
    assert where("move(batch, device)\nmodel(batch['info']['n'].sum())", "batch['info']['n'].sum()") != DEVICE


def test_every_batch_that_the_turn_takes_comes_by_the_move():
    assert value_of(MOVERS + TAKEN, "batch['y'].max()").device == DEVICE


def test_whom_it_is_handed_to_gets_it_as_it_is_then():
    code = MOVERS + "def loss_of(model, data):\n    return model(data['x'].sum())\n\n" + LOOP
    code += "        move(batch, device)\n        loss_of(model, batch).backward()\n"
    assert value_of(code, "data['x'].sum()").device == DEVICE
