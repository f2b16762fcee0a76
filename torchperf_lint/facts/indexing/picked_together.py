"""Elements that a list takes one by one, by the elements of an index on the device: one subscript takes them all.

    torch.stack([mean[:, index[i]] for i in range(k)], dim=1)         # mean[:, index[:k]]
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.element_loops.rows import is_whole
from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.syntax.chains import chain, last_part


def picked_together(place: Place, operand: ast.expr) -> str | None:
    """The subscript that takes at once what `operand` picks in each turn of a list that is stacked; None for others."""
    parents = place.file.enclosing(place.function).parents
    if not isinstance(operand, ast.Subscript) or not isinstance(operand.slice, ast.Name):
        return None
    parent = parents.get(operand)
    parts = parent.elts if isinstance(parent, ast.Tuple) else [operand]
    if not all(part is operand or is_whole(part) for part in parts):
        return None
    picked = parents.get(parent) if isinstance(parent, ast.Tuple) else parent
    if not isinstance(picked, ast.Subscript) or operand is picked.value:
        return None
    made = parents.get(picked)
    counter = operand.slice.id
    if not isinstance(made, ast.ListComp | ast.GeneratorExp) or not _counts(made, counter):
        return None
    stacked, turns = parents.get(made), made.generators[0].iter
    if not isinstance(stacked, ast.Call) or last_part(chain(stacked.func)) != "stack":
        return None
    if not isinstance(turns, ast.Call) or _stacked_along(stacked) != parts.index(operand) or len(turns.args) != 1:
        return None
    used = [node for node in ast.walk(picked) if isinstance(node, ast.Name) and node.id == counter]
    if len(used) > 1:
        return None
    chosen = f"{ast.unparse(operand.value)}[:{ast.unparse(turns.args[0])}]"
    written = ", ".join(chosen if part is operand else ast.unparse(part) for part in parts)
    return f"{ast.unparse(picked.value)}[{written}]"


def _stacked_along(call: ast.Call) -> int | None:
    """The axis that `stack` makes, counted from the first; None where that is not written."""
    dim = next((k.value for k in call.keywords if k.arg == "dim"), call.args[1] if len(call.args) > 1 else None)
    if dim is None:
        return 0
    return dim.value if isinstance(dim, ast.Constant) and type(dim.value) is int and dim.value >= 0 else None


def _counts(made: ast.ListComp | ast.GeneratorExp, counter: str) -> bool:
    """`for i in range(n)`, alone and without a test."""
    turns = made.generators[0]
    counted = isinstance(turns.iter, ast.Call) and chain(turns.iter.func) == "range"
    named = isinstance(turns.target, ast.Name) and turns.target.id == counter
    return counted and named and len(made.generators) == 1 and not turns.ifs
