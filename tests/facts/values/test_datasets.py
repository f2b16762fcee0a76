"""Data sets: which work for each item, which hold their items in memory, which on the device."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.values import datasets
from torchperf_lint.facts.values.value import DEVICE, HOST, Frame

HEAD = """
    import h5py
    import torchvision
    from PIL import Image
    from torch.utils.data import ConcatDataset, Dataset, IterableDataset, Subset, TensorDataset, random_split
"""


def loader_in(code):
    """The project of a snippet, and the call of DataLoader in it with its frame."""
    files = texts({"a.py": "\n".join([HEAD.replace("\n    ", "\n"), code])})
    project = Project.of_texts(files)
    (record,) = [c for c in project.index.outlines["a.py"].calls if c.callee == "DataLoader"]
    call = project.body("a.py").call(record.function, record.line, record.column, "DataLoader")
    assert isinstance(call, ast.Call)
    return project.values, call, Frame("a.py", record.function, (record.line, record.column))


def own(item, init="self.x = x", base="Dataset", signature="x"):
    """A data set class, and a loader over one made from `rows`."""
    return f"""
class Own({base}):
    def __init__(self, {signature}):
        {init}

    def __len__(self):
        return 8

    def __getitem__(self, i):
        {item}


def make(rows, device, names, path):
    return DataLoader(Own(rows), 32)
"""


def made(expression, before="pass"):
    return f"def make(x, y, device, rows):\n    {before}\n    return DataLoader({expression}, 32)\n"


ON_DEVICE = {
    "a TensorDataset": made("TensorDataset(x.to(device), y.to(device))"),
    "a TensorDataset of one": made("TensorDataset(x.cuda(), y)"),
    "moved before": made("TensorDataset(x, y)", "x, y = x.to('cuda'), y.to('cuda')"),
    "made there": made("TensorDataset(torch.rand(100, 3, device='cuda'))"),
    "by a name": made("data", "data = TensorDataset(x.cuda(), y.cuda())"),
    "by keyword": "def make(x):\n    return DataLoader(batch_size=32, dataset=TensorDataset(x.cuda()))\n",
    "a part of one": made("Subset(TensorDataset(x.cuda()), range(10))"),
    "one part of two": made("a", "a, b = random_split(TensorDataset(x.cuda()), [8, 2])"),
    "several": made("ConcatDataset([TensorDataset(x.cuda()), TensorDataset(y.cuda())])"),
    "a list of device tensors": made("[x.cuda(), y.cuda()]"),
    "an own class that moves": own("return self.x[i]", "self.x = x.cuda()"),
    "an own class with a device": own(
        "return self.x[i], i", "self.x = torch.tensor(x, device=device)", signature="x, device='cuda'"
    ),
    "an own class that moves each item": own("return torch.as_tensor(self.x[i]).cuda()"),
    "an own class handed device tensors": own("return self.x[i]").replace("Own(rows)", "Own(rows.cuda())"),
    "a dict of them": own('return {"x": self.x[i]}', "self.x = x.cuda()"),
    "an iterable": own("pass", "self.x = x.cuda()", "IterableDataset").replace(
        "def __getitem__(self, i):\n        pass", "def __iter__(self):\n        yield from self.x"
    ),
}

IN_MEMORY = {
    "a TensorDataset": made("TensorDataset(x, y)"),
    "of arrays": made("TensorDataset(torch.from_numpy(x), torch.from_numpy(y))"),
    "by a name": made("data", "data = TensorDataset(x, y)"),
    "a part of one": made("Subset(TensorDataset(x, y), range(10))"),
    "MNIST": made('torchvision.datasets.MNIST("data", train=True)'),
    "a list": made("[torch.zeros(3), torch.ones(3)]"),
    "pairs": made("list(zip(torch.zeros(9), torch.ones(9)))"),
    "an own class that indexes": own("return self.x[i]"),
    "two attributes": own("return self.x[i], self.y[i]", "self.x, self.y = x, y", signature="x, y"),
    "a dict of items": own('return {"x": self.x[i], "len": len(self.x)}'),
    "made a tensor": own("return torch.tensor(self.x[i]).float()"),
    "in two statements": own("row = self.x[i]\n        return torch.from_numpy(row), i"),
}

NEITHER = {
    "opens a file": own("return Image.open(self.x[i])"),
    "opens a file through a method": own("return self.read(self.x[i])").replace(
        "def __len__", "def read(self, p):\n        return Image.open(p)\n\n    def __len__"
    ),
    "transforms": own("return self.transform(self.x[i])", "self.x, self.transform = x, x"),
    "a file that looks like memory": own("return self.x[i]", 'self.x = h5py.File(path)["x"]', signature="x, path=None"),
    "mapped": own("return self.x[i]", 'self.x = np.load(x, mmap_mode="r")'),
    "computes": own("return self.render(i)"),
    "files in folders": made('torchvision.datasets.ImageFolder("data")'),
    "a parameter": made("x"),
    "unpacked": "def make(*args):\n    return DataLoader(*args)\n",
    "nothing": "def make(**options):\n    return DataLoader(**options)\n",
    "a library's": "from there import Things\n\n\ndef make():\n    return DataLoader(Things())\n",
}

WORK = {
    "opens a file": (own("return Image.open(self.x[i])"), "`Own.__getitem__` calls `Image.open()` for each item"),
    "through a method": (NEITHER["opens a file through a method"], "`Own.__getitem__` calls `Image.open()`"),
    "transforms": (NEITHER["transforms"], "calls `self.transform()`"),
    "a database": (
        own('with self.x.begin() as rows:\n            return rows.get(f"row_{i}".encode())'),
        "`Own.__getitem__` calls `self.x.begin()` for each item",
    ),
    "files in folders": (NEITHER["files in folders"], "`ImageFolder` decodes a file for each item"),
    "a part of one": (
        made('Subset(torchvision.datasets.ImageFolder("data"), range(10))'),
        "`ImageFolder` decodes a file for each item",
    ),
    "split": (
        made("a", 'a, b = random_split(torchvision.datasets.ImageFolder("data"), [8, 2])'),
        "`ImageFolder` decodes a file for each item",
    ),
    "handed in": (
        own("return Image.open(self.x[i])")
        .replace("def make(rows, device, names, path):", "def make(data):")
        .replace("DataLoader(Own(rows), 32)", "DataLoader(data, 32)")
        + "\n\nmake(Own([]))\n",
        "`Own.__getitem__` calls `Image.open()`",
    ),
}


@pytest.mark.parametrize("code", ON_DEVICE.values(), ids=ON_DEVICE)
def test_data_sets_that_hold_device_tensors(code):
    values, call, frame = loader_in(code)
    found = datasets.held(values, call, frame)
    assert found is not None
    assert found.device == DEVICE
    assert found.because
    assert values.of(call, frame).device == DEVICE


@pytest.mark.parametrize("code", IN_MEMORY.values(), ids=IN_MEMORY)
def test_data_sets_that_hold_their_items_in_memory(code):
    values, call, frame = loader_in(code)
    found = datasets.held(values, call, frame)
    assert found is not None
    assert found.device == HOST
    assert "memory" in found.because or "list or tensor" in found.because
    assert values.of(call, frame).device == HOST


@pytest.mark.parametrize("code", NEITHER.values(), ids=NEITHER)
def test_data_sets_of_which_that_is_not_known(code):
    values, call, frame = loader_in(code)
    assert datasets.held(values, call, frame) is None
    assert values.of(call, frame).device == HOST


@pytest.mark.parametrize(("code", "reason"), WORK.values(), ids=WORK)
def test_data_sets_that_work_for_each_item(code, reason):
    values, call, frame = loader_in(code)
    data = datasets.data_of(call)
    assert data is not None
    assert reason in (datasets.item_work(values, data, frame) or "")


def test_a_text_becomes_bytes_without_work():
    values, call, frame = loader_in(own('return self.x[f"row_{i}".encode()]'))
    data = datasets.data_of(call)
    assert data is not None
    assert datasets.item_work(values, data, frame) is None


@pytest.mark.parametrize(
    "collate",
    [
        "lambda rows: default_collate(rows).to(device)",
        "lambda rows: tuple(t.to(device) for t in default_collate(rows))",
        "together",
    ],
)
def test_batches_are_on_the_device_where_collating_moves_them(collate):
    code = f"""
from torch.utils.data import default_collate


def together(rows):
    x, y = default_collate(rows)
    return x.cuda(), y.cuda()


def make(data, device):
    return DataLoader(data, 32, collate_fn={collate})
"""
    values, call, frame = loader_in(code)
    assert datasets.held(values, call, frame) is None
    assert values.of(call, frame).device == DEVICE


def test_two_uses_of_a_class_with_other_data_are_not_told_apart():
    code = own("return self.x[i]") + "\n\nlater = Own(torch.zeros(3).cuda())\nsooner = Own(torch.zeros(3))\n"
    values, call, frame = loader_in(code)
    found = datasets.held(values, call, frame)
    assert found is not None
    assert found.device == HOST


@pytest.mark.parametrize(
    ("reads", "work"),
    [
        ("Image.open(row)", "its `together` calls `Image.open()` for each batch"),
        ("self.pad(row)", None),
        ("self.tokenizer.encode(row)", None),  # of a few lines of text
    ],
)
def test_collating_that_reads_the_files_that_items_name(reads, work):
    code = own("return self.x[i]").replace("collate_fn=", "") + f"""

class Named(Own):
    def load(self, row):
        return {reads}

    def together(self, rows):
        return torch.stack([self.load(row) for row in rows])


named = Named(rows)
"""
    code = code.replace("DataLoader(", "list(") + "later = DataLoader(named, 32, collate_fn=named.together)\n"
    values, call, frame = loader_in(code)
    assert datasets.collating_work(values, call, frame) == work
    assert (datasets.held(values, call, frame) is None) == (work is not None)
