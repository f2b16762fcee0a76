"""Loops that read the samples of a data set one after the other, each between two calls of a model.

    for i in tqdm(range(len(dataset))):            for sample in DataLoader(dataset, batch_size=None, num_workers=4):
        sample = dataset[i]

Nothing fetches ahead: the device waits while the loop's own process opens, decodes and transforms each sample.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import Spot, hot_nodes
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.datasets import item_work

_BARS = frozenset({"tqdm", "trange", "track", "progress_bar", "prange", "enumerate"})
_KINDS = ("step", "eval")


class IndexedDataSet(NamedTuple):
    """A sample that a hot loop takes from a data set by its index."""

    spot: Spot
    data: str
    """The data set as written."""
    work: str
    """What a sample costs, in words."""


def indexed_data_sets(file: SourceFile) -> Iterator[IndexedDataSet]:
    """The hot reads of one sample a turn, `dataset[i]`, of data sets that are known to work for each."""
    for spot in hot_nodes(file, ast.Subscript):
        read, hot = spot.expression, spot.hot
        assert isinstance(read, ast.Subscript)
        if not isinstance(read.slice, ast.Name) or hot.kind not in _KINDS or not isinstance(read.ctx, ast.Load):
            continue
        if not isinstance(read.value, ast.Name | ast.Attribute) or not _counts(file, spot, read, hot):
            continue
        work = item_work(file.project.values, read.value, spot.frame)
        if work is not None:
            yield IndexedDataSet(spot, ast.unparse(read.value), work)


def _counts(file: SourceFile, spot: Spot, read: ast.Subscript, hot: Hot) -> bool:
    """Whether the loop that makes the code hot counts through the data set: `for i in tqdm(range(len(dataset)))`."""
    loop = next((n for n in file.enclosing(spot.function).around(read) if isinstance(n, ast.For | ast.While)), None)
    if not isinstance(loop, ast.For) or hot.loop is None or hot.loop[0] != file.path or hot.depth:
        return False
    if file.outline.regions[hot.loop[1]].head != loop.lineno:
        return False
    counted = _counted(loop.iter)
    index = read.slice
    if counted is None or not isinstance(index, ast.Name) or ast.dump(counted) != ast.dump(read.value):
        return False
    return isinstance(loop.target, ast.Name) and loop.target.id == index.id


def _counted(node: ast.expr) -> ast.expr | None:
    """What `range(len(x))` goes through; also under a progress bar, and in steps."""
    while isinstance(node, ast.Call) and last_part(chain(node.func)) in _BARS and node.args:
        node = node.args[0]
    if isinstance(node, ast.Call) and chain(node.func) == "range" and node.args:
        node = node.args[0] if len(node.args) == 1 else node.args[1]
    if isinstance(node, ast.Call) and chain(node.func) == "len" and len(node.args) == 1:
        return node.args[0]
    return None
