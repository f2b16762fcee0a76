"""Iterable data sets of which every worker reads the whole."""

from __future__ import annotations

from textwrap import indent

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.loaders.sharding import undivided


def stream_of(iterates, parameters="path", kept="self.path = path"):
    snippet = (
        "import random\nfrom torch.utils.data import IterableDataset, get_worker_info\n\n"
        "class Items(IterableDataset):\n"
        f"    def __init__(self, {parameters}):\n        {kept}\n\n"
        f"    def __iter__(self):\n{indent(iterates, '        ')}\n\n"
        "    def helper(self):\n        yield from open(self.path)\n\n"
        "made = Items(1)\nloader = DataLoader(made)\n"
    )
    files = texts(snippet)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    (site,) = file.calls_of("torch.utils.data.DataLoader")
    thing = file.value(site.call.args[0], site).thing
    assert thing is not None
    found = undivided(file.project, thing)
    return found.source if found is not None else None


@pytest.mark.parametrize(
    ("iterates", "expected"),
    [
        ("for line in open(self.path):\n    yield line", "open(self.path)"),
        ("for n, line in enumerate(open(self.path)):\n    yield line", "enumerate(open(self.path))"),
        ("yield from range(10)", "range(10)"),
        ("return iter(range(10))", "iter(range(10))"),
        ("yield from self.helper()", "open(self.path)"),
        ("for n in range(10):\n    print(n)\nyield 1", ""),
        ("yield from self.path", ""),
        ("for rows in self.path:\n    for n in range(len(rows)):\n        yield rows[n]", ""),
        ("for _ in range(3):\n    for line in self.path:\n        yield line", "range(3)"),
        ("info = get_worker_info()\nyield from range(10)", None),
        ("for _ in range(10):\n    yield random.random()", None),
    ],
)
def test_what_every_worker_reads(iterates, expected):
    assert stream_of(iterates) == expected


@pytest.mark.parametrize(
    ("parameters", "kept", "expected"),
    [
        ("items: list", "self.items = items", "self.items"),
        ("items: 'list[str] | None'", "self.items = items", "self.items"),
        ("items", "self.items = items", ""),
        ("items", "self.items = sorted(items)", ""),
        ("items", "self.items = [str(item) for item in items]", "self.items"),
        ("items, rank=0", "self.items = items", None),
    ],
)
def test_what_it_was_given(parameters, kept, expected):
    assert stream_of("yield from self.items", parameters, kept) == expected
