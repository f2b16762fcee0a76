"""Branches that the value of one parameter decides: `if dim_size is None:`, `if method == "fast":`, their other ways.

Decided from one file's syntax, so outlines can hold the answer: the test as text, which calls are held against later.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection

_OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_HOLDS: dict[type[ast.cmpop], Callable[[object, object], bool]] = {
    ast.Is: lambda given, wanted: given is wanted,
    ast.IsNot: lambda given, wanted: given is not wanted,
    ast.Eq: lambda given, wanted: given == wanted,
    ast.NotEq: lambda given, wanted: given != wanted,
    ast.In: lambda given, wanted: isinstance(wanted, tuple | list | set) and given in wanted,
    ast.NotIn: lambda given, wanted: isinstance(wanted, tuple | list | set) and given not in wanted,
}


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = _Unknown()
"""What a call gives that is no literal; not None, either."""


def ways(test: ast.expr, parameters: Collection[str]) -> tuple[str, str]:
    """What a parameter must be for the body of an `if` to run, and for its `else`; empty where it does not decide.

    Of several conditions joined by `and` each must hold for the body; of those joined by `or` none for the rest.
    """
    if isinstance(test, ast.BoolOp):
        told = [ways(part, parameters) for part in test.values]
        both = isinstance(test.op, ast.And)
        found = next((told_of[0 if both else 1] for told_of in told if told_of[0 if both else 1]), "")
        return (found, "") if both else ("", found)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        holds, fails = ways(test.operand, parameters)
        return fails, holds
    if isinstance(test, ast.Name):
        return (test.id, f"not {test.id}") if test.id in parameters else ("", "")
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.left, ast.Name):
        return "", ""
    other = _OPPOSITES.get(type(test.ops[0]))
    if test.left.id not in parameters or other is None or not _is_literal(test.comparators[0]):
        return "", ""
    opposite = ast.Compare(test.left, [other()], test.comparators)
    return ast.unparse(test), ast.unparse(opposite)


def parameter_of(way: str) -> str:
    """The parameter that a way through a function depends on."""
    return next(node.id for node in ast.walk(ast.parse(way)) if isinstance(node, ast.Name))


def may_hold(way: str, value: object) -> bool:
    """Whether the way is taken where the parameter is `value`; also where that is not known."""
    test = ast.parse(way, mode="eval").body
    if isinstance(test, ast.Compare):
        wanted = ast.literal_eval(test.comparators[0])
        if value is UNKNOWN:
            return not (isinstance(test.ops[0], ast.Is) and wanted is None)
        return _HOLDS[type(test.ops[0])](value, wanted)
    return value is UNKNOWN or bool(value) is isinstance(test, ast.Name)


def _is_literal(node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return all(isinstance(part, ast.Constant) for part in node.elts)
    return isinstance(node, ast.Constant)
