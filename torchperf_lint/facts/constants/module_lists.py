"""Lists of numbers that a module of the project holds at its top, for itself or for those that import it.

    JOINTS_17 = [6, 5, 4, 1, 2, 3]                 from body.joints import JOINTS_14
    JOINTS_14 = JOINTS_17[:14]                     x[:, JOINTS_14]
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.outlines.records import END_OF_FILE
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.literals import literal_of
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.facts.values.values import Values

_HOPS = 4
"""Names between the one that is used and the list."""
_MAKES_LIST = frozenset({"list", "sorted"})


def is_module_list(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether a name, or `joints.JOINTS_14`, is bound once, at the top of a module, and to a list of numbers."""
    if not isinstance(node, ast.Name | ast.Attribute) or _is_bound_inside(values, chain(node).partition(".")[0], frame):
        return False
    return _names_list(values, node, frame.path, _HOPS)


def _is_bound_inside(values: Values, name: str, frame: Frame) -> bool:
    """Whether the function, or one around it, has another thing by that name."""
    body, functions = values.body(frame.path), values.index.outlines[frame.path].functions
    scope = frame.function
    while body is not None and scope > 0:
        if name in body.definitions(scope) or any(parameter.name == name for parameter in functions[scope].parameters):
            return True
        scope = functions[scope].parent
    return body is None


def _names_list(values: Values, node: ast.expr, path: str, hops: int) -> bool:
    found = _bound(values, chain(node), path) if isinstance(node, ast.Name | ast.Attribute) and hops else None
    return found is not None and _is_list(values, found[0], found[1], hops - 1)


def _bound(values: Values, written: str, path: str) -> tuple[ast.expr, str] | None:
    """What the only binding of a name is, here or in the module that it is imported from, and in which file."""
    body = values.body(path)
    name = written
    imported = values.index.outlines[path].imports.get(written.partition(".")[0])
    if imported is not None:
        module, _, name = (imported + written[len(written.partition(".")[0]) :]).rpartition(".")
        owner = values.index.module(module, path) if module.strip(".") else None
        body = values.body(owner) if owner is not None else None
        path = owner or path
    bound = body.reaching(0, name, END_OF_FILE) if body is not None else None
    if bound is None or len(bound) != 1 or bound[0].how != "assign" or bound[0].block or bound[0].value is None:
        return None
    return bound[0].value, path


def _is_list(values: Values, made: ast.expr, path: str, hops: int) -> bool:
    if isinstance(made, ast.List):
        return bool(made.elts) and all(type(literal_of(e)) is int for e in made.elts)
    if isinstance(made, ast.BinOp) and isinstance(made.op, ast.Add):
        return _is_list(values, made.left, path, hops) and _is_list(values, made.right, path, hops)
    if isinstance(made, ast.Subscript) and isinstance(made.slice, ast.Slice):
        return _is_list(values, made.value, path, hops)
    if isinstance(made, ast.Call) and chain(made.func) in _MAKES_LIST and made.args:
        counted = made.args[0]
        ranged = isinstance(counted, ast.Call) and chain(counted.func) == "range"
        return ranged or _is_list(values, counted, path, hops)
    return _names_list(values, made, path, hops)
