"""Branches that the value of one parameter decides: `if dim_size is None:`, `if method == "fast":`, their other ways.

Decided from one file's syntax, so outlines can hold the answer: the test as text, which calls are held against later.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from functools import lru_cache

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


UNKNOWN, ANYTHING = object(), object()
"""What a call gives that is no literal: computed, and so not None; or passed on from where nobody looks."""


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
    if isinstance(test, ast.Call):
        asked = _asked_of_text(test) in parameters
        return (ast.unparse(test), f"not {ast.unparse(test)}") if asked else ("", "")
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.left, ast.Name):
        return "", ""
    other = _OPPOSITES.get(type(test.ops[0]))
    if test.left.id not in parameters or other is None or not _is_literal(test.comparators[0]):
        return "", ""
    opposite = ast.Compare(test.left, [other()], test.comparators)
    return ast.unparse(test), ast.unparse(opposite)


def way_past(statement: ast.stmt, parameters: Collection[str]) -> str:
    """What a parameter must be for the rest of a block to run: `if mode == "fast": return f(x)` comes first."""
    if not isinstance(statement, ast.If) or statement.orelse or not isinstance(statement.body[-1], ast.Return):
        return ""
    return ways(statement.test, parameters)[1]


def _asked_of_text(test: ast.Call) -> str:
    """The name of which a call asks how its text begins or ends: `mode.startswith("fast")`."""
    asks = isinstance(test.func, ast.Attribute) and test.func.attr in ("startswith", "endswith")
    literal = len(test.args) == 1 and isinstance(test.args[0], ast.Constant) and not test.keywords
    of = test.func.value if isinstance(test.func, ast.Attribute) else None
    return of.id if asks and literal and isinstance(of, ast.Name) else ""


@lru_cache(maxsize=1024)
def _parsed(way: str) -> ast.expr:
    return ast.parse(way, mode="eval").body


def parameter_of(way: str) -> str:
    """The parameter that a way through a function depends on."""
    return next(node.id for node in ast.walk(_parsed(way)) if isinstance(node, ast.Name))


def may_hold(way: str, value: object) -> bool:
    """Whether the way is taken where the parameter is `value`; also where that is not known."""
    test = _parsed(way)
    if value is ANYTHING:
        return True
    if isinstance(test, ast.Compare):
        wanted = ast.literal_eval(test.comparators[0])
        if value is UNKNOWN:
            return not (isinstance(test.ops[0], ast.Is) and wanted is None)
        return _HOLDS[type(test.ops[0])](value, wanted)
    negated = isinstance(test, ast.UnaryOp)
    asked = test.operand if isinstance(test, ast.UnaryOp) else test
    if value is UNKNOWN:
        return True
    if isinstance(asked, ast.Call) and isinstance(asked.func, ast.Attribute):
        method = getattr(value, asked.func.attr, None)
        return method is None or bool(method(ast.literal_eval(asked.args[0]))) is not negated
    return bool(value) is not negated


def _is_literal(node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return all(isinstance(part, ast.Constant) for part in node.elts)
    return isinstance(node, ast.Constant)
