"""Functions that look one number up in a tensor and hand its place back: what a loop asks them for, one search finds.

    def index_of(self, t, schedule):                       places = [self.index_of(t, schedule) for t in timesteps]
        found = (schedule == t).nonzero()                  # a comparison and two waits for each element
        return found[0].item()

Compared with all elements at once, `(schedule[:, None] == timesteps).int().argmax(0)`, it stays on the device.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from torchperf_lint.facts.call_graph.index import FunctionKey, Index
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.facts.syntax.chains import last_part

_FINDS = frozenset("nonzero argwhere where argmin argmax searchsorted bucketize isclose".split())
_READS = frozenset({"item", "int"})
_PLAIN = frozenset("abs min max eq any all len sum squeeze flatten view to".split())
_FEW_LINES = 60
"""Of such a function; its documentation counts too."""


def is_search(file: SourceFile, key: FunctionKey) -> bool:
    """Whether a function does nothing but find a number in a tensor, and reads where it stands."""
    calls = calls_of_short(file.project.index, key, _FEW_LINES)
    called = {last_part(call.callee) for call in calls or ()}
    return bool(called & _FINDS) and bool(called & _READS) and called <= _FINDS | _READS | _PLAIN


def calls_of_short(index: Index, key: FunctionKey, most_lines: int) -> Sequence[Call] | None:
    """The calls of a function without loops that is at most so long, its documentation included; else None."""
    outline = index.outlines[key.path]
    record = outline.functions[key.index]
    if record.end_line - record.header_line > most_lines:
        return None
    if any(region.kind == "loop" and region.function == key.index for region in outline.regions):
        return None
    return index.calls_in(key)


def finds_one(file: SourceFile, function: int, found: ast.expr) -> bool:
    """Whether a search's result is read as one number, at once or by the name that it is given, and used for no more.

    rank = (order[i] == wanted[i]).nonzero()
    assert rank.size(0) == 1
    ranks.append(rank.item() + 1)
    """
    parents, body = file.enclosing(function).parents, file.project.body(file.path)
    bound = parents.get(found)
    if reads_one(found, parents) or body is None or not isinstance(bound, ast.Assign):
        return reads_one(found, parents)
    target = bound.targets[0] if len(bound.targets) == 1 else None
    if not isinstance(target, ast.Name):
        return False
    reads = body.reads(function, target.id)
    uses = [u for u in reads if any(d.value is found for d in body.reaching(function, target.id, body.at(u)) or ())]
    read = [reads_one(use, parents) for use in uses]
    return any(read) and all(one or _is_checked(use, parents) for one, use in zip(read, uses, strict=True))


def _is_checked(use: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> bool:
    """Whether something is only asserted: `assert found.size(0) == 1`."""
    while isinstance(use, ast.expr) and use in parents:
        use = parents[use]
    return isinstance(use, ast.Assert)


def reads_one(found: ast.expr, parents: Mapping[ast.AST, ast.AST]) -> bool:
    """Whether a search's result is read as one number at once: `(x == t).nonzero()[0].item()`, `int(...)` of it."""
    node: ast.AST = found
    for _ in range(_STAGES):
        parent = parents.get(node)
        if isinstance(parent, ast.Call) and parent.func is not node:
            return isinstance(parent.func, ast.Name) and parent.func.id == "int"
        if isinstance(parent, ast.Attribute) and parent.attr == "item":
            return True
        if not isinstance(parent, ast.Attribute | ast.Subscript | ast.Call):
            return False
        node = parent
    return False


_STAGES = 6
"""Subscripts and methods between a search and the reading of what it found."""
