"""Elements that a list takes one by one, by the elements of an index on the device: one subscript takes them all.

    torch.stack([mean[:, index[i]] for i in range(k)], dim=-1)         # mean[:, index]
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.chains import chain, last_part
from torchperf_lint.facts.source import Place


def picked_together(place: Place, operand: ast.expr) -> str | None:
    """The subscript that takes at once what `operand` picks in each turn of a list that is stacked; None for others."""
    parents = place.file.enclosing(place.function).parents
    if not isinstance(operand, ast.Subscript) or not isinstance(operand.slice, ast.Name):
        return None
    parent = parents.get(operand)
    parts = parent.elts if isinstance(parent, ast.Tuple) else [operand]
    if not all(part is operand or _is_whole(part) for part in parts):
        return None
    picked = parents.get(parent) if isinstance(parent, ast.Tuple) else parent
    if not isinstance(picked, ast.Subscript) or operand is picked.value:
        return None
    made = parents.get(picked)
    counter = operand.slice.id
    if not isinstance(made, ast.ListComp | ast.GeneratorExp) or not _counts(made, counter):
        return None
    stacked = parents.get(made)
    if not isinstance(stacked, ast.Call) or last_part(chain(stacked.func)) not in ("stack", "vstack"):
        return None
    used = [node for node in ast.walk(picked) if isinstance(node, ast.Name) and node.id == counter]
    if len(used) > 1:
        return None
    written = ", ".join(ast.unparse(operand.value if part is operand else part) for part in parts)
    return f"{ast.unparse(picked.value)}[{written}]"


def _counts(made: ast.ListComp | ast.GeneratorExp, counter: str) -> bool:
    """`for i in range(n)`, alone and without a test."""
    turns = made.generators[0]
    counted = isinstance(turns.iter, ast.Call) and chain(turns.iter.func) == "range"
    named = isinstance(turns.target, ast.Name) and turns.target.id == counter
    return counted and named and len(made.generators) == 1 and not turns.ifs


def _is_whole(part: ast.expr) -> bool:
    return isinstance(part, ast.Slice) and part.lower is None and part.upper is None and part.step is None
