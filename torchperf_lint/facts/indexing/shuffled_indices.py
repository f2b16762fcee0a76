"""Indices that the host counts off and shuffles in place: `rows = np.arange(n)`, `np.random.shuffle(rows)`, `x[rows]`.

`random.shuffle` does the same to `list(range(n))`. The device draws such an order itself, by `torch.randperm`.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.spots import Spot
from torchperf_lint.facts.indexing.index_uses import name_below
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values.value import Frame

_SHUFFLES = frozenset({"numpy.random.shuffle", "random.shuffle"})


def shuffles(spot: Spot, index: ast.expr) -> list[ast.Call]:
    """The calls that shuffle an index, or what it is cut from, where that counts from zero; none for any other."""
    body, name = spot.file.project.body(spot.file.path), name_below(index)
    made = body.assigned_once(spot.function, name.id, body.at(name)) if body is not None and name is not None else None
    if body is None or name is None or made is None or not _counts_off(spot, made):
        return []
    calls = [n for n in spot.file.enclosing(spot.function).of_kinds((ast.Call,)) if isinstance(n, ast.Call)]
    given = [c for c in calls if len(c.args) == 1 and chain(c.args[0]) == name.id and c.lineno < name.lineno]
    return [call for call in given if _denotes(spot, call.func) in _SHUFFLES]


def _counts_off(spot: Spot, made: ast.expr) -> bool:
    """`np.arange(n)`, `list(range(n))`."""
    if isinstance(made, ast.Call) and chain(made.func) == "list" and len(made.args) == 1:
        made = made.args[0]
        return isinstance(made, ast.Call) and chain(made.func) == "range" and len(made.args) == 1
    return isinstance(made, ast.Call) and len(made.args) == 1 and _denotes(spot, made.func) == "numpy.arange"


def _denotes(spot: Spot, function: ast.expr) -> str:
    thing = spot.file.project.values.thing(function, Frame(spot.file.path, spot.function, spot.start))
    return thing.dotted if thing is not None and thing.kind == "external" else ""
