"""Loaders that are made anew where a pass over them has ended, although the old one could be iterated again.

while True:
    try:
        yield next(batches)
    except StopIteration:
        loader = DataLoader(dataset, shuffle=True, num_workers=4)
        batches = iter(loader)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.constants.repeatable import same_in_each_turn
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.loaders.pinning import LOADER_CLASSES
from torchperf_lint.facts.outlines.records import Region
from torchperf_lint.facts.syntax.chains import chain

_ENDS = "StopIteration"


class RebuiltAtEnd(NamedTuple):
    """A call that makes a loader in the handler of a pass's end."""

    site: Site
    loop: Region
    taken: int
    """The line that takes the batches."""


def rebuilt_at_end(file: SourceFile) -> Iterator[RebuiltAtEnd]:
    """The loaders of a file that a loop makes anew for each pass over them, out of what never changes."""
    if not file.mentions((_ENDS,)):
        return
    for site in file.calls_of(*LOADER_CLASSES):
        taken, loop = _taken_before(site), _loop_around(file, site)
        if taken is not None and loop is not None and same_in_each_turn(site, loop):
            yield RebuiltAtEnd(site, loop, taken)


def _taken_before(site: Site) -> int | None:
    """The line of the `next(batches)` whose end the handler around a call meets; None where it meets another."""
    handler: ast.ExceptHandler | None = None
    for node in site.file.enclosing(site.function).around(site.call):
        if isinstance(node, ast.ExceptHandler) and node.type is not None and chain(node.type) == _ENDS:
            handler = node
        elif isinstance(node, ast.Try) and handler is not None:
            calls = (part for statement in node.body for part in ast.walk(statement))
            lines = [p.lineno for p in calls if isinstance(p, ast.Call) and chain(p.func) == "next"]
            return min(lines, default=None)
        elif isinstance(node, ast.If | ast.For | ast.While) and handler is None:
            return None
    return None


def _loop_around(file: SourceFile, site: Site) -> Region | None:
    """The innermost loop around the handler, in the same function."""
    regions, index = file.outline.regions, site.record.region
    while index >= 0 and regions[index].kind != "function":
        if regions[index].kind == "loop":
            return regions[index]
        index = regions[index].parent
    return None
