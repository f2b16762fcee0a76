"""Values that are counted where they occur, and whose counts go to their places in a table.

    values, counts = labels.unique(return_counts=True)
    seen[values] += counts

`seen.index_add_(0, labels, ones)` counts the same, and no size decides over it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.indexing.selections import DISTINCT, Selection
from torchperf_lint.facts.syntax.arguments import keyword
from torchperf_lint.facts.syntax.literals import is_literal

_VALUES, _COUNTS = 0, 1


def is_tallied(selection: Selection) -> bool:
    """Whether the values that occur are used for nothing but the places at which their counts are kept."""
    call, spot = selection.spot.expression, selection.spot
    body = spot.file.project.body(spot.file.path)
    if selection.form != DISTINCT or not isinstance(call, ast.Call) or body is None:
        return False
    counts = is_literal(keyword(call, "return_counts"), True)
    if not counts or keyword(call, "dim") is not None or keyword(call, "return_inverse") is not None:
        return False
    uses = list(_uses(selection, call, body))
    return {part for _, part in uses} == {_VALUES, _COUNTS} and all(
        _is_kept(selection, use, part) for use, part in uses
    )


def _uses(selection: Selection, call: ast.Call, body: Body) -> Iterator[tuple[ast.expr, int]]:
    """Where the values and the counts are used, and which of them; -1 for what is used as a pair."""
    spot = selection.spot
    around = spot.file.enclosing(spot.function)
    each = around.parents.get(call)
    listed = isinstance(each, ast.ListComp) and each.elt is call
    made = each if isinstance(each, ast.ListComp) and listed else call
    statement = around.parents.get(made)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or statement.value is not made:
        yield call, -1
        return
    target = statement.targets[0]
    names = target.elts if isinstance(target, ast.Tuple) and not listed else [target]
    parts = {name.id: place for place, name in enumerate(names) if isinstance(name, ast.Name)}
    whole = len(names) == 1
    for use in around.of_kinds((ast.Name,)):
        if not isinstance(use, ast.Name) or use.id not in parts or not isinstance(use.ctx, ast.Load):
            continue
        if any(d.value is made for d in body.reaching(spot.function, use.id, body.at(use)) or ()):
            part = _part_of(use, around.parents, of_list=listed) if whole else (use, parts[use.id])
            yield part if part is not None else (use, -1)


def _part_of(use: ast.expr, parents: dict[ast.AST, ast.AST], *, of_list: bool) -> tuple[ast.expr, int] | None:
    """`found[0]`, and `found[i][0]` of a list of pairs: the values or the counts of one."""
    one = parents.get(use) if of_list else use
    part = parents.get(one) if one is not None else None
    if not isinstance(part, ast.Subscript) or part.value is not one:
        return None
    place = part.slice.value if isinstance(part.slice, ast.Constant) else None
    return (part, place) if type(place) is int and place in (_VALUES, _COUNTS) else None


def _is_kept(selection: Selection, use: ast.expr, part: int) -> bool:
    """Whether counts are put, or added, at the place of the values: `seen[values] += counts.float()`."""
    around = selection.spot.file.enclosing(selection.spot.function)
    statement = around.statement(use)
    target: ast.expr | None = None
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
        target = statement.target
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
    if not isinstance(target, ast.Subscript) or not isinstance(statement, ast.Assign | ast.AugAssign):
        return False
    if part == _VALUES:
        index = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
        return any(one is use for one in index)
    return part == _COUNTS and _is_converted(statement.value, use)


def _is_converted(value: ast.expr, use: ast.expr) -> bool:
    """Whether a value is what is used, in another type perhaps: `counts.to(x.dtype)`."""
    while value is not use and isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr not in ("to", "float", "double", "half", "int", "long", "type", "type_as"):
            return False
        value = value.func.value
    return value is use
