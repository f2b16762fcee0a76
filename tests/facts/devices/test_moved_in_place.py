"""Batches whose entries a statement moves to the device where they are, and entries that are moved one by one."""

from __future__ import annotations

from textwrap import indent

import pytest
from snippets import value_of

from torchperf_lint.facts.values.value import ANYWHERE, DEVICE, HOST

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

def move_unless(batch, device, skip):
    if skip:
        return
    for k, v in batch.items():
        batch[k] = v.to(device)

def moved(batch, device):
    for k in batch:
        if type(batch[k]) is torch.Tensor:
            batch[k] = batch[k].to(device)
    return batch

def counted(batch, device):
    for k in batch:
        batch[k] = batch[k].to(device)
    return len(batch)

def move_copy(batch, device):
    batch = dict(batch)
    for k, v in batch.items():
        batch[k] = v.to(device)

"""
MOVED = "move(batch, device)\n"
READ = "model(batch['x'].sum())"
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
        ("batch = moved(batch, device)\nmodel(batch['x'].sum())", DEVICE),
        ("done = moved(batch, device)\nmodel(batch['x'].sum())", DEVICE),
        ("out = model(moved(batch, device))['p']\nmodel(batch['x'].sum())", DEVICE),
        ("losses.append(model(x=moved(batch, device)).loss)\nmodel(batch['x'].sum())", DEVICE),
        ("out = model(moved(batch, 'cpu'))['p']\nmodel(batch['x'].sum())", HOST),
        ("out = use and model(moved(batch, device))\nmodel(batch['x'].sum())", HOST),
        ("out = [model(moved(batch, device)) for _ in use]\nmodel(batch['x'].sum())", HOST),
        ("if use:\n    batch = moved(batch, device)\nmodel(batch['x'].sum())", HOST),
        ("batch = moved(batch, 'cpu')\nmodel(batch['x'].sum())", HOST),
        ("batch = read(counted(batch, device))\nmodel(batch['x'].sum())", ANYWHERE),
        ("batch['x'] = batch['x'].to(device)\nmodel(batch['x'].sum())", DEVICE),
        ("move_some(batch, device)\nmodel(batch['x'].sum())", ANYWHERE),
        ("model(batch['x'].sum())\nmove(batch, device)", HOST),
        ("if use:\n    move(batch, device)\nmodel(batch['x'].sum())", HOST),
        ("if torch.cuda.is_available():\n    move(batch, device)\nmodel(batch['x'].sum())", DEVICE),
        ("if args.use_cuda:\n    for k in batch:\n        batch[k] = batch[k].cuda()\nmodel(batch['x'].sum())", DEVICE),
        ("if not args.use_cuda:\n    move(batch, device)\nmodel(batch['x'].sum())", HOST),
        ("if use:\n    pass\nelse:\n    move(batch, device)\nmodel(batch['x'].sum())", HOST),
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


@pytest.mark.parametrize(
    ("code", "device"),
    [
        (f"{MOVED}move(batch, 'cpu')\n{READ}", HOST),
        (f"move(batch, 'cpu')\n{MOVED}{READ}", DEVICE),
        (f"{MOVED}if use:\n    move(batch, 'cpu')\n{READ}", HOST),
        (f"{MOVED}for k in batch:\n    batch[k] = batch[k].cpu()\n{READ}", HOST),
        (f"{MOVED}for k, v in batch.items():\n    batch[k] = v.to('cpu')\n{READ}", HOST),
        (f"{MOVED}for k in ('x', 'y'):\n    batch[k] = batch[k].cpu()\n{READ}", HOST),
        (f"{MOVED}for k in batch:\n    batch[k] = batch[k].float()\n{READ}", DEVICE),
        (f"{MOVED}for k, v in batch.items():\n    batch[k] = v.float()\n{READ}", DEVICE),
        (f"{MOVED}for k in batch:\n    batch[k] = listed(k)\n{READ}", HOST),
        (f"{MOVED}batch['x'] = torch.tensor([3])\n{READ}", HOST),
        (f"{MOVED}batch['x'] = batch['x'].cpu()\n{READ}", HOST),
        (f"batch['x'] = torch.tensor([3])\n{MOVED}{READ}", DEVICE),
        (f"{MOVED}batch['y'] = batch['y'].cpu()\n{READ}", DEVICE),
        (f"for k, v in batch.items():\n    batch[k] = model(v.to(device)).cpu()\n{READ}", HOST),
        (f"for k, v in batch.items():\n    batch[k] = v.to(device).cpu()\n{READ}", HOST),
        (f"for k, v in batch.items():\n    batch[k] = listed(v.to(device))\n{READ}", HOST),
        (f"move_unless(batch, device, use)\n{READ}", HOST),
        (f"batch['x'] = batch['x'].to(device)\nbatch = next(iter(loader))\n{READ}", HOST),
    ],
)
def test_what_comes_after_the_move_counts(code, device):
    assert where(code, "batch['x'].sum()") == device


def test_one_that_is_taken_at_the_end_of_a_turn_comes_by_the_move_of_the_next():
    taken = "def train(model: nn.Module, loader: DataLoader, device):\n    batches = iter(loader)\n"
    turn = "        batch['x'] = batch['x'].to(device)\n        y = batch['x'].max()\n        batch = next(batches)\n"
    code = f"{taken}    batch = next(batches)\n    while batch:\n{turn}"
    assert value_of(code, "batch['x'].max()").device == DEVICE


@pytest.mark.parametrize("part", ["batch['info']['n']", "info['n']"])
def test_a_dict_in_the_dict_is_left_where_it_is(part):
    assert where(f"{MOVED}info = batch['info']\nmodel({part}.sum())", f"{part}.sum()") != DEVICE
    assert where(f"{MOVED}info = batch['info']\nmodel({part}.item())", part) == ANYWHERE


@pytest.mark.parametrize(
    "taken",
    ["for k, info in batch.items():\n    ", "for info in batch.values():\n    ", "info = batch.get('info')\n"],
)
def test_a_dict_that_a_method_of_the_dict_gives_is_left_where_it_is(taken):
    assert where(f"{MOVED}{taken}model(info['n'].item())", "info['n']") == ANYWHERE


def test_every_batch_that_the_turn_takes_comes_by_the_move():
    assert value_of(MOVERS + TAKEN, "batch['y'].max()").device == DEVICE


def test_whom_it_is_handed_to_gets_it_as_it_is_then():
    code = MOVERS + "def loss_of(model, data):\n    return model(data['x'].sum())\n\n" + LOOP
    code += "        move(batch, device)\n        loss_of(model, batch).backward()\n"
    assert value_of(code, "data['x'].sum()").device == DEVICE


BY_METHOD = """
class Trainer:
    def __init__(self, loader: DataLoader):
        self.loader = loader
        self.device = torch.device("cuda")

    def to_var(self, x):
        return x.to(self.device)

    def as_float(self, x):
        return x.float()

    def placed(self, batch):
        for k, v in batch.items():
            if torch.is_tensor(v):
                batch[k] = self.{method}(v)
        return batch

    def train(self):
        for batch in self.loader:
            batch = self.placed(batch)
            x = batch["x"]
            x.sum()
"""


@pytest.mark.parametrize(("method", "device"), [("to_var", DEVICE), ("as_float", HOST)])
def test_entries_may_be_moved_by_a_method_that_does_nothing_else(method, device):
    assert value_of(BY_METHOD.format(method=method), "x").device == device
