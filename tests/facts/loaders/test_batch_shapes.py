"""The shapes in which loaders and batches come, and what the rules about batches and reads say there."""

from __future__ import annotations

import re
from textwrap import dedent, indent

import pytest

from torchperf_lint.lint import Target, lint
from torchperf_lint.settings import Settings

RULES = ("TPL101", "TPL201", "TPL301", "TPL302")
HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision.io import decode_image


class Photos(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return decode_image(self.paths[index]), index


"""
STEP = """\
optimizer.zero_grad()
loss.backward()
optimizer.step()
total += loss.item()  # expect: TPL101
"""


def training(loop, copies="", setup="", loss="F.cross_entropy(model(x), y)"):
    """A function that trains: `setup`, then `loop` around copies and a step."""
    body = f"{dedent(copies).strip()}\nloss = {loss}\n{STEP}"
    lines = f"{dedent(setup).strip()}\ntotal = 0.0\n{dedent(loop).strip()}\n" + indent(body, "    ")
    return "def train(model, optimizer, device, loader, other_loader, steps, paths):\n" + indent(lines, "    ")


def found(files, tmp_path):
    """(path, line, code) of each finding of the four rules."""
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    report = lint(Target(tmp_path, Settings(select=RULES), tuple(sorted(tmp_path / path for path in files))))
    assert report.problems == ()
    places = [(f.location.path, f.location.line, f.code) for f in report.findings]
    return sorted((next(p for p in files if path.endswith(p)), line, code) for path, line, code in places)


def expected(files):
    """The same, as comments ask for it."""
    lines = [(path, number, line) for path, text in files.items() for number, line in enumerate(text.splitlines(), 1)]
    return sorted((path, number, code) for path, number, line in lines for code in marks(line))


def marks(line):
    """The codes that a line's `# expect:` asks for."""
    return re.findall(r"TPL\d{3}", line.partition("# expect: ")[2])


def check(code, tmp_path):
    files = {"a.py": code} if isinstance(code, str) else code
    files = {path: HEAD + dedent(text) for path, text in files.items()}
    assert found(files, tmp_path) == expected(files)


PAIR = "x, y = x.to(device), y.to(device)  # expect: TPL201"
ASYNC = "x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)"

LOOPS = {
    "plain": training("for x, y in loader:", PAIR),
    "enumerate": training("for i, (x, y) in enumerate(loader):", PAIR),
    "enumerate from one": training("for i, (x, y) in enumerate(loader, start=1):", PAIR),
    "tqdm": training("for x, y in tqdm(loader, total=len(loader)):", PAIR, "from tqdm.auto import tqdm"),
    "tqdm.tqdm": training("for x, y in tqdm.tqdm(loader):", PAIR, "import tqdm"),
    "enumerate of tqdm": training(
        "for i, batch in enumerate(tqdm(loader)):", f"x, y = batch\n{PAIR}", "from tqdm import tqdm"
    ),
    "tqdm of enumerate": training("for i, (x, y) in tqdm(enumerate(loader)):", PAIR, "from tqdm import tqdm"),
    "a bar with a name": training(
        "for x, y in bar:\n    bar.set_description('x')", PAIR, "from tqdm import tqdm\nbar = tqdm(loader)"
    ),
    "a bar of enumerate with a name": training(
        "for i, (x, y) in pbar:", PAIR, "from tqdm import tqdm\npbar = tqdm(enumerate(loader), total=len(loader))"
    ),
    "zip": training("for (x, _), (y, _) in zip(loader, other_loader):", PAIR),
    "zip of a batch each": training(
        "for a, b in zip(loader, other_loader):", "x = a[0].to(device)  # expect: TPL201\ny = b[1].to(device)"
    ),
    "enumerate of zip": training("for i, ((x, _), (y, _)) in enumerate(zip(loader, other_loader)):", PAIR),
    "cycle and zip": training(
        "for (x, _), (y, _) in zip(loader, cycle(other_loader)):", PAIR, "from itertools import cycle"
    ),
    "islice": training("for x, y in islice(loader, steps):", PAIR, "from itertools import islice"),
    "itertools.islice": training("for x, y in itertools.islice(loader, steps):", PAIR, "import itertools"),
    "next of an iterator": training(
        "for step in range(steps):", f"batch = next(it)\nx, y = batch\n{PAIR}", "it = iter(loader)"
    ),
    "next, unpacked": training("for step in range(steps):", f"x, y = next(it)\n{PAIR}", "it = iter(loader)"),
    "next of a cycle": training(
        "for step in range(steps):", f"x, y = next(it)\n{PAIR}", "import itertools\nit = itertools.cycle(loader)"
    ),
    "next with a default": training(
        "while True:",
        f"batch = next(it, None)\nif batch is None:\n    break\nx, y = batch\n{PAIR}",
        "it = iter(loader)",
    ),
    "the method of an iterator": training(
        "for step in range(steps):", f"x, y = it.__next__()\n{PAIR}", "it = iter(loader)"
    ),
    "a function that cycles": """
def cycle(loader):
    while True:
        for batch in loader:
            yield batch


"""
    + training("for step in range(steps):", f"x, y = next(it)\n{PAIR}", "it = cycle(loader)"),
    "a function that yields from": """
def forever(loader):
    while True:
        yield from loader


"""
    + training("for x, y in forever(loader):", PAIR),
}

ITEMS = {
    "a tuple by index": training(
        "for batch in loader:", "x = batch[0].to(device)  # expect: TPL201\ny = batch[1].to(device)"
    ),
    "a list of copies": training(
        "for batch in loader:", "batch = [t.to(device) for t in batch]  # expect: TPL201\nx, y = batch"
    ),
    "a generator of copies": training("for batch in loader:", "x, y = (t.to(device) for t in batch)  # expect: TPL201"),
    "a tuple of copies": training(
        "for batch in loader:", "x, y = tuple(t.to(device) for t in batch)  # expect: TPL201"
    ),
    "map of copies": training("for batch in loader:", "x, y = map(lambda t: t.to(device), batch)  # expect: TPL201"),
    "a dict by key": training(
        "for batch in loader:", 'x = batch["x"].to(device)  # expect: TPL201\ny = batch["y"].to(device)'
    ),
    "a dict comprehension": training(
        "for batch in loader:",
        'batch = {k: v.to(device) for k, v in batch.items()}  # expect: TPL201\nx, y = batch["x"], batch["y"]',
    ),
    "a dict comprehension with a test": training(
        "for batch in loader:",
        "batch = {k: v.to(device) if torch.is_tensor(v) else v for k, v in batch.items()}  # expect: TPL201\n"
        'x, y = batch["x"], batch["y"]',
    ),
    "a loop over the keys": training(
        "for batch in loader:",
        'for key in batch:\n    batch[key] = batch[key].to(device)  # expect: TPL201\nx, y = batch["x"], batch["y"]',
    ),
    "a loop over the items": training(
        "for batch in loader:",
        'for k, v in batch.items():\n    batch[k] = v.to(device)  # expect: TPL201\nx, y = batch["x"], batch["y"]',
    ),
    "item by item in place": training(
        "for batch in loader:",
        'batch["x"] = batch["x"].to(device)  # expect: TPL201\nx, y = batch["x"], batch["y"].to(device)',
    ),
    "a dataclass": training(
        "for batch in loader:", "x = batch.images.to(device)  # expect: TPL201\ny = batch.labels.to(device)"
    ),
    "nested": training(
        "for (x, extra), y in loader:", 'x = x.to(device)  # expect: TPL201\nz, y = extra["z"].to(device), y.to(device)'
    ),
    "whole, of unknown make": training("for batch in loader:", "x, y = batch.to(device)  # expect: TPL201"),
    "cuda": training("for x, y in loader:", "x = x.cuda()  # expect: TPL201\ny = y.cuda()"),
    "converted first": training(
        "for x, y in loader:", "x = x.float().to(device)  # expect: TPL201\ny = y.long().to(device)"
    ),
    "with a dtype": training(
        "for x, y in loader:", "x = x.to(device, dtype=torch.half)  # expect: TPL201\ny = y.to(device)"
    ),
    "asynchronous": training("for x, y in loader:", ASYNC),
    "asynchronous dict": training(
        "for batch in loader:",
        'batch = {k: v.to(device, non_blocking=True) for k, v in batch.items()}\nx, y = batch["x"], batch["y"]',
    ),
    "moved by the model": training("for x, y in loader:", "", "model.cuda()", loss="model(x, y)"),
    "a helper of accelerate": training(
        "for batch in loader:",
        "x, y = send_to_device(batch, device)  # expect: TPL201",
        "from accelerate.utils import send_to_device",
    ),
}

PREPARED = {
    "accelerate, a tuple": training(
        "for x, y in loader:",
        "x = x.to(accelerator.device)",
        "from accelerate import Accelerator\naccelerator = Accelerator()\n"
        "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)",
    ),
    "accelerate, alone": training(
        "for step, batch in enumerate(train_loader):",
        "x, y = batch[0].to(accelerator.device), batch[1].to(device)",
        "from accelerate import Accelerator\naccelerator = Accelerator()\n"
        "train_loader = accelerator.prepare(DataLoader(Photos(paths), num_workers=2))",
    ),
    "accelerate, in the loop": training(
        "for x, y in accelerator.prepare(loader):",
        "x = x.to(accelerator.device)",
        "from accelerate import Accelerator\naccelerator = Accelerator()",
    ),
    "accelerate, prepare_data_loader": training(
        "for x, y in loader:",
        "x = x.to(accelerator.device)",
        "from accelerate import Accelerator\naccelerator = Accelerator()\n"
        "loader = accelerator.prepare_data_loader(loader)",
    ),
    "accelerate, handed in": training(
        "for x, y in loader:", "x = x.to(device)", "model, loader = accelerator.prepare(model, loader)"
    ).replace("device, loader", "device, accelerator, loader"),
    "fabric": training(
        "for x, y in loader:",
        "x, y = x.to(fabric.device), y.to(device)",
        "from lightning import Fabric\nfabric = Fabric(devices=2)\nloader = fabric.setup_dataloaders(loader)",
    ),
    "fabric, two loaders": training(
        "for x, y in train_loader:",
        "x, y = x.to(fabric.device), y.to(device)",
        "import lightning as L\nfabric = L.Fabric()\n"
        "train_loader, test_loader = fabric.setup_dataloaders(loader, other_loader)",
    ),
    "fabric without moving": training(
        "for x, y in loader:",
        PAIR,
        "from lightning import Fabric\nfabric = Fabric()\n"
        "loader = fabric.setup_dataloaders(loader, move_to_device=False)",
    ),
    "xla's parallel loader": training(
        "for x, y in loader:",
        "x = x.to(device)",
        "import torch_xla.distributed.parallel_loader as pl\nloader = pl.MpDeviceLoader(loader, device)",
    ),
}

PREFETCHED = {
    "one that moves to the device": """
class Prefetcher:
    def __init__(self, loader, device):
        self.loader = iter(loader)
        self.stream = torch.cuda.Stream()
        self.device = device
        self.preload()

    def preload(self):
        try:
            self.batch = next(self.loader)
        except StopIteration:
            self.batch = None
            return
        with torch.cuda.stream(self.stream):
            self.batch = [t.to(self.device, non_blocking=True) for t in self.batch]

    def next(self):
        torch.cuda.current_stream().wait_stream(self.stream)
        batch = self.batch
        self.preload()
        return batch


"""
    + training(
        "while True:",
        "batch = prefetcher.next()\nif batch is None:\n    break\nx, y = batch\nx = x.to(device)",
        "prefetcher = Prefetcher(loader, device)",
    ),
    "one that does not move": """
class CpuPrefetcher:
    def __init__(self, loader):
        self.loader = loader
        self.it = iter(loader)

    def next(self):
        try:
            return next(self.it)
        except StopIteration:
            return None

    def reset(self):
        self.it = iter(self.loader)


"""
    + training(
        "while batch is not None:",
        f"x, y = batch\n{PAIR}\nbatch = prefetcher.next()",
        "prefetcher = CpuPrefetcher(loader)\nbatch = prefetcher.next()",
    ),
    "an iterable that moves": """
class DeviceLoader:
    def __init__(self, loader, device):
        self.loader = loader
        self.device = device

    def __len__(self):
        return len(self.loader)

    def __iter__(self):
        for x, y in self.loader:
            yield x.to(self.device, non_blocking=True), y.to(self.device, non_blocking=True)


"""
    + training("for x, y in DeviceLoader(loader, device):", "x = x.to(device)"),
    "an iterable that blocks": """
class DeviceLoader:
    def __init__(self, loader, device):
        self.loader = loader
        self.device = device

    def __iter__(self):
        for batch in self.loader:
            yield tuple(t.to(self.device) for t in batch)  # expect: TPL201


"""
    + training("for x, y in DeviceLoader(loader, device):", ""),
    "an iterable that passes on": """
class Endless:
    def __init__(self, loader):
        self.loader = loader

    def __iter__(self):
        while True:
            yield from self.loader


"""
    + training("for x, y in Endless(loader):", PAIR),
    "a class with __next__": """
class Endless:
    def __init__(self, loader):
        self.loader = loader
        self.it = iter(loader)

    def __next__(self):
        try:
            return next(self.it)
        except StopIteration:
            self.it = iter(self.loader)
            return next(self.it)


"""
    + training("for step in range(steps):", f"x, y = next(source)\n{PAIR}", "source = Endless(loader)"),
}

MADE = {
    "a plain loader": training(
        "for x, y in train_loader:", ASYNC, "train_loader = DataLoader(Photos(paths), 32)  # expect: TPL301"
    ),
    "not pinned": training(
        "for x, y in train_loader:",
        ASYNC,
        "train_loader = DataLoader(Photos(paths), 32, num_workers=4)  # expect: TPL302",
    ),
    "by a name that says nothing": training(
        "for x, y in source:", ASYNC, "source = DataLoader(Photos(paths), 32, num_workers=4)  # expect: TPL302"
    ),
    "in a dict": training(
        'for x, y in loaders["train"]:',
        ASYNC,
        'loaders = {"train": DataLoader(Photos(paths), num_workers=4)}  # expect: TPL302',
    ),
    "in a dict, by phase": training(
        "for phase in ('train', 'val'):\n  for x, y in loaders[phase]:",
        ASYNC,
        'loaders = {p: DataLoader(Photos(paths), num_workers=4) for p in ("train", "val")}  # expect: TPL302',
    ),
    "in a list": training(
        "for one in loaders:\n  for x, y in one:",
        ASYNC,
        "loaders = [DataLoader(Photos(p), num_workers=4) for p in paths]  # expect: TPL302",
    ),
    "stored into a dict": training(
        'for x, y in loaders["train"]:',
        ASYNC,
        'loaders = {}\nloaders["train"] = DataLoader(Photos(paths), num_workers=4)  # expect: TPL302',
    ),
    "a tuple": training(
        "for x, y in train:",
        ASYNC,
        "train, val = DataLoader(Photos(paths), num_workers=4), None  # expect: TPL302",
    ),
    "taken with next": training(
        "for step in range(steps):",
        f"x, y = next(batches)\n{ASYNC}",
        "batches = iter(DataLoader(Photos(paths), 32))  # expect: TPL301",
    ),
    "taken with next, from a generator": """
def cycle(loader):
    while True:
        for batch in loader:
            yield batch


"""
    + training(
        "for step in range(steps):",
        f"x, y = next(batches)\n{ASYNC}",
        "batches = cycle(DataLoader(Photos(paths), 32))  # expect: TPL301",
    ),
    "two that go through one generator": """
def cycle(loader):
    while True:
        for batch in loader:
            yield batch


"""
    + training(
        "for step in range(steps):",
        f"x, y = next(batches)\n{ASYNC}",
        "batches = cycle(DataLoader(Photos(paths), 32))  # expect: TPL301\n"
        "others = cycle(DataLoader(Photos(paths), 16))",
    ),
    "taken once": training(
        "for step in range(steps):", ASYNC, "batches = iter(DataLoader(Photos(paths), 32))\nx, y = next(batches)"
    ),
    "in an attribute": """
class Trainer:
    def __init__(self, model, optimizer, paths, device):
        self.model, self.optimizer, self.device = model, optimizer, device
        self.train_data = DataLoader(Photos(paths), num_workers=4)  # expect: TPL302

    def train(self):
        for x, y in self.train_data:
            x, y = x.to(self.device, non_blocking=True), y.to(self.device, non_blocking=True)
            loss = F.cross_entropy(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
""",
    "in a dict in an attribute": """
class Trainer:
    def __init__(self, model, optimizer, paths, device):
        self.model, self.optimizer, self.device = model, optimizer, device
        self.loaders = {"train": DataLoader(Photos(paths), num_workers=4)}  # expect: TPL302

    def train(self):
        for x, y in self.loaders["train"]:
            x, y = x.to(self.device, non_blocking=True), y.to(self.device, non_blocking=True)
            loss = F.cross_entropy(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
""",
    "by a helper in another file": {
        "data.py": """
def make(paths, size):
    return DataLoader(Photos(paths), size, num_workers=4)  # expect: TPL302
""",
        "train.py": "from data import make\n\n\n" + training("for x, y in make(paths, 32):", ASYNC),
    },
    "several by a helper in another file": {
        "data.py": """
def make(paths, size):
    train = DataLoader(Photos(paths), size, num_workers=4)  # expect: TPL302
    test = DataLoader(Photos(paths), size, num_workers=4)
    return train, test
""",
        "train.py": "from data import make\n\n\n"
        + training("for x, y in first:", ASYNC, "first, second = make(paths, 32)"),
    },
    "a dict by a helper in another file": {
        "data.py": """
def make(paths, size):
    return {"train": DataLoader(Photos(paths), size, num_workers=4), "val": None}  # expect: TPL302
""",
        "train.py": "from data import make\n\n\n"
        + training('for x, y in parts["train"]:', ASYNC, "parts = make(paths, 32)"),
    },
    "by a method of a data module": {
        "data.py": """
class Data:
    def __init__(self, paths):
        self.paths = paths

    def loader(self):
        return DataLoader(Photos(self.paths), num_workers=4)  # expect: TPL302
""",
        "train.py": "from data import Data\n\n\n" + training("for x, y in data.loader():", ASYNC, "data = Data(paths)"),
    },
    "handed to a function in another file": {
        "loop.py": training("for x, y in source:", ASYNC, "").replace("device, loader", "device, source, loader"),
        "main.py": """
from loop import train


def main(model, optimizer, device, paths):
    source = DataLoader(Photos(paths), 32, num_workers=4)  # expect: TPL302
    train(model, optimizer, device, source, None, None, 10, paths)
""",
    },
    "a subclass": """
class OurLoader(DataLoader):
    def __init__(self, paths):
        super().__init__(Photos(paths), num_workers=0)


"""
    + training("for x, y in source:", PAIR, "source = OurLoader(paths)"),
    "a subclass that moves": """
class OurLoader(DataLoader):
    def __init__(self, paths, device):
        super().__init__(Photos(paths))
        self.device = device

    def __iter__(self):
        for x, y in super().__iter__():
            yield x.to(self.device, non_blocking=True), y.to(self.device, non_blocking=True)


"""
    + training("for x, y in source:", "x = x.to(device)", "source = OurLoader(paths, device)"),
    "with unpacked options": training(
        "for x, y in train_loader:",
        ASYNC,
        "options = dict(num_workers=4)\noptions.update(other_loader)\n"
        "train_loader = DataLoader(Photos(paths), **options)",
    ),
    "by a partial": training(
        "for x, y in train_loader:",
        ASYNC,
        "from functools import partial\nmake = partial(DataLoader, num_workers=4, pin_memory=True)\n"
        "train_loader = make(Photos(paths))",
    ),
}


@pytest.mark.parametrize("code", LOOPS.values(), ids=LOOPS)
def test_ways_to_get_a_batch_from_a_loader(code, tmp_path):
    check(code, tmp_path)


@pytest.mark.parametrize("code", ITEMS.values(), ids=ITEMS)
def test_shapes_of_batches(code, tmp_path):
    check(code, tmp_path)


OF_AN_ENGINE = """
def make(model, optimizer, device):
    from ignite.engine import Engine

    def update(engine, batch):
        x, y = batch
        x, y = x.to(device), y.to(device)  # expect: TPL201
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()  # expect: TPL101

    return Engine(update)

def main(model, optimizer, loader):
    make(model, optimizer, "cuda").run(loader, max_epochs=2)
"""


def test_an_engine_of_ignite_moves_no_batch(tmp_path):
    check(OF_AN_ENGINE, tmp_path)


@pytest.mark.parametrize("code", PREPARED.values(), ids=PREPARED)
def test_batches_that_a_framework_has_moved(code, tmp_path):
    check(code, tmp_path)


@pytest.mark.parametrize("code", PREFETCHED.values(), ids=PREFETCHED)
def test_wrappers_of_loaders_of_a_projects_own(code, tmp_path):
    check(code, tmp_path)


@pytest.mark.parametrize("code", MADE.values(), ids=MADE)
def test_places_where_a_loader_is_made(code, tmp_path):
    check(code, tmp_path)
