"""One row of values that goes to all places of a mask: `x[~mask] = torch.ones(self.dim).type_as(x)`.

How many places there are need not be known for that: `x = torch.where(mask[..., None], x, row)` broadcasts the row.
Where the size of what is made could be the number of places itself, `torch.zeros(n)`, nothing is said.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.indexing.selections import Selection
from torchperf_lint.facts.syntax.chains import chain, last_part

_MAKERS = frozenset({"torch.ones", "torch.zeros", "torch.full"})
_NEW = frozenset({"new_ones", "new_zeros", "new_full"})
_MOVES = frozenset("to type_as cuda float half double long bool bfloat16 to_dense contiguous clone".split())
_HOPS = 2


def is_one_row(selection: Selection, value: ast.expr) -> bool:
    """Whether what is stored by a mask is a constant row, as long as something that has nothing to do with the mask."""
    made = _made(selection, value, _HOPS)
    while isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute) and made.func.attr in _MOVES:
        made = _made(selection, made.func.value, _HOPS)
    if not isinstance(made, ast.Call):
        return False
    name = last_part(chain(made.func))
    if name not in _NEW and (selection.spot.file.denotes(made.func, selection.spot) or "") not in _MAKERS:
        return False
    given = made.args[:1] if name in ("full", "new_full") else made.args
    if len(given) == 1 and isinstance(given[0], ast.Tuple | ast.List):
        given = given[0].elts
    return len(given) == 1 and _is_a_width(selection, given[0], _HOPS)


def _is_a_width(selection: Selection, size: ast.expr, hops: int) -> bool:
    """`4`, `self.dim`, `x.shape[-1]`, `x.size(-1)`; no name for a count, and no `len(places)`."""
    if isinstance(size, ast.Constant):
        return isinstance(size.value, int)
    if isinstance(size, ast.Name):
        bound = _made(selection, size, 1)
        return hops > 0 and bound is not size and _is_a_width(selection, bound, hops - 1)
    if isinstance(size, ast.Subscript):
        return last_part(chain(size.value)) == "shape" and _is_no_first(size.slice)
    if isinstance(size, ast.Call):
        args = size.args
        return last_part(chain(size.func)) == "size" and len(args) == 1 and _is_no_first(args[0])
    return isinstance(size, ast.Attribute) and chain(size).startswith("self.")


def _is_no_first(index: ast.expr) -> bool:
    """What stands under another index than the first is no number of rows."""
    return isinstance(index, ast.UnaryOp) or (isinstance(index, ast.Constant) and index.value != 0)


def _made(selection: Selection, node: ast.expr, hops: int) -> ast.expr:
    """What a name is bound to, or the expression itself."""
    spot = selection.spot
    body = spot.file.project.body(spot.file.path)
    for _ in range(hops):
        if body is None or not isinstance(node, ast.Name):
            break
        node = body.assigned_once(spot.function, node.id, body.at(node)) or node
    return node
