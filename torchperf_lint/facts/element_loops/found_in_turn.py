"""Places that each turn of a loop finds anew: `best = torch.argmax(scores)`. No copy before the loop can hold them."""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.source import Place, SourceFile
from torchperf_lint.facts.syntax.chains import chain, last_part

_FINDS = frozenset("argmax argmin max min topk multinomial sample searchsorted bucketize".split())
"""What gives a place, or an extreme with its place."""


IN_TURN, BEFORE = "in turn", "before"
"""By a statement of the innermost loop; or before that, so that all its turns have the same."""


def found_in_turn(file: SourceFile, place: Place, node: ast.expr) -> str | None:
    """Where the place is found that a name in a loop stands for; None for a name of anything else, or of a bound."""
    body, enclosing = file.project.body(file.path), file.enclosing(place.function)
    loop = next(iter(enclosing.loops(node)), None)
    if body is None or not isinstance(loop, ast.For | ast.AsyncFor | ast.While) or not isinstance(node, ast.Name):
        return None
    parent = enclosing.parents.get(node)
    parent = enclosing.parents.get(parent) if isinstance(parent, ast.Tuple) else parent
    if not isinstance(parent, ast.Subscript) or parent.value is node:
        return None
    reaching = body.reaching(place.function, node.id, body.at(node)) or ()
    start, end = body.at(loop), (loop.end_lineno or loop.lineno, loop.end_col_offset or 0)
    values = [_of_target(d.value, d.index) for d in reaching if d.value is not None and d.how in ("assign", "item")]
    if not values or len(values) < len(reaching) or not all(map(_finds, values)):
        return None
    inside = {start < d.at <= end for d in reaching}
    return IN_TURN if inside == {True} else BEFORE if inside == {False} else None


def _of_target(value: ast.expr, index: tuple[int, ...]) -> ast.expr:
    """What one of several names is bound to: `low, high = p.argmin(), p.argmax()`."""
    if len(index) == 1 and isinstance(value, ast.Tuple) and index[0] < len(value.elts):
        return value.elts[index[0]]
    return value


def _finds(node: ast.expr) -> bool:
    while isinstance(node, ast.Call | ast.Subscript | ast.Attribute):
        if isinstance(node, ast.Call) and last_part(chain(node.func)) in _FINDS:
            return True
        node = node.func if isinstance(node, ast.Call) else node.value
    return False
