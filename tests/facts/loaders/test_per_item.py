"""What a data set does for each item, and what of it is the same for all of them."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.loaders import per_item

HEAD = """
import importlib
import os
from functools import lru_cache
from pathlib import Path
from torch.utils.data import Dataset

ROOT = "data"
"""


def items(methods, base="Dataset", decorator=""):
    """The calls of `read` that a data set with these methods makes for each item."""
    body = "\n".join(f"    {line}" for line in methods.strip("\n").split("\n"))
    files = texts({"a.py": f"{HEAD}\nclass Own({base}):\n    def __init__(self, p):\n        self.p = p\n\n{body}\n"})
    project = Project.of_texts(files)
    return list(per_item.item_calls(SourceFile(project, "a.py", files["a.py"]), "read"))


def getitem(*lines):
    return "\n".join(["def __getitem__(self, i):", *(f"    {line}" for line in lines)])


SAME = {
    "an attribute": ["return read(self.p)"],
    "joined": ["return read(os.path.join(self.p, 'x'))"],
    "a division of paths": ["return read(Path(self.p) / 'x')"],
    "an f-string": ["return read(f'{self.p}/x')"],
    "a name of it": ["path = self.p + '.csv'", "return read(path)"],
    "a constant of the module": ["return read(ROOT)"],
    "opened": ["with open(self.p) as file:", "    return read(file)"],
}
OTHER = {
    "the index": ["return read(self.p[i])"],
    "a name of the index": ["path = self.p[i]", "return read(path)"],
    "one of two": ["path = self.p", "if i > 5:", "    path = self.p + str(i)", "return read(path)"],
    "nobody knows": ["return read(self.choose())"],
    "a loop": ["return [read(path) for path in self.p]"],
    "an attribute of this item": ["self.q = self.p[i]", "return read(self.q)"],
    "opened of the index": ["with open(self.p[i]) as file:", "    return read(file)"],
}


@pytest.mark.parametrize("lines", SAME.values(), ids=SAME)
def test_the_same(lines):
    (item,) = items(getitem(*lines))
    assert item.name == "Own.__getitem__"
    assert per_item.same_for_every_item(item, item.site.call.args[0])


@pytest.mark.parametrize("lines", OTHER.values(), ids=OTHER)
def test_another_for_each(lines):
    (item,) = items(getitem(*lines))
    assert not per_item.same_for_every_item(item, item.site.call.args[0])


@pytest.mark.parametrize(("given", "same"), [("self.p", True), ("self.p[i]", False), ("i", False)])
def test_what_a_helper_is_given(given, same):
    helper = "def helper(self, path):\n    return read(path)\n"
    (item,) = items(helper + getitem(f"return self.helper({given})"))
    assert per_item.same_for_every_item(item, item.site.call.args[0]) is same


def test_a_helper_that_is_called_in_two_ways():
    helper = "def helper(self, path):\n    return read(path)\n"
    (item,) = items(helper + getitem("return self.helper(self.p), self.helper(self.p[i])"))
    assert not per_item.same_for_every_item(item, item.site.call.args[0])


def test_kept_by_a_decorator():
    helper = "@lru_cache\ndef helper(self):\n    return read(self.p)\n"
    assert not items(helper + getitem("return self.helper()[i]"))


def test_no_data_set():
    assert not items(getitem("return read(self.p)"), base="list")


def test_once_a_pass():
    assert not items("def __iter__(self):\n    yield from read(self.p)", base="Dataset")


def test_a_module_that_is_imported_late():
    (item,) = items(getitem("h5 = importlib.import_module('h5')", "return h5.read(self.p)"))
    assert per_item.called(item.site) == "h5.read"


def test_the_position_is_set():
    opened = "with open(self.p) as file:"
    (item,) = items(getitem(opened, "    file.seek(i)", "    return read(file)"))
    assert per_item.stream_of(item, item.site.call.args[0]) is not None
    assert per_item.seeks(item, item.site.call.args[0])


HELPED = "\n".join([getitem("return {}"), "def one(self, x):", "    return read(x)"])


@pytest.mark.parametrize(
    ("methods", "line"),
    [
        (getitem("out = []", "for x in self.p[i]:", "    out.append(read(x))"), 0),
        (getitem("return [read(x) for x in self.p[i]]"), 0),
        (HELPED.format("[self.one(x) for x in self.p[i]]"), -2),
        (HELPED.format("self.one(self.p[i])"), None),
        (getitem("return read(self.p[i])"), None),
        (getitem("return [read(x) for x in (self.p[i], 1)]"), None),
    ],
)
def test_what_a_loop_runs_several_times_for_one_item(methods, line):
    (item,) = items(methods)
    turned = per_item.turns_in(item)
    assert (turned is None) is (line is None)
    assert turned is None or turned.call.line == item.site.start[0] + line
