"""Tests for what should not be: values that are not finite, numbers out of range."""

from __future__ import annotations

import ast
import re

from torchperf_lint.facts.outlines.complaints import only_speaks, warns
from torchperf_lint.facts.syntax.conditions import has_modulus, names_in, walked
from torchperf_lint.patterns import pattern

NOT_FINITE = frozenset({"isnan", "isinf", "has_nan", "has_inf"})
_COUNTED = pattern(r"^(?:n|num|count|total)_(?:nan|inf)s?$|^(?:nan|inf)s?_(?:count|found)$|^found_(?:nan|inf)s?$")
"""`num_nans > 0`: what has been counted before."""
_ASKS = frozenset("item any all max min amax amin".split())
_INFINITE = pattern(r"-?(?:float\('-?inf(?:inity)?'\)|(?:math|np|numpy|torch)\.inf)$", re.IGNORECASE)


_WARNS = frozenset({"warn", "warning", "error", "warning_once", "warn_once"})
_SPEAKING = (ast.Expr, ast.If)
_LIMIT = (ast.Gt, ast.GtE, ast.Lt, ast.LtE)
_SOME = (ast.Gt, ast.GtE, ast.NotEq)


def tells_of_an_anomaly(node: ast.If) -> bool:
    """`if loss.item() > 1.0: print("out of range", ...)`: nobody means to print that often.

    Nor to warn that often, of whatever is beyond a limit: `if abs(loss) > high: logger.warning(...)`. What a branch
    does beside its warning, to get over what it warns of, is meant to run no more often than that.
    """
    if not any(isinstance(statement, _SPEAKING) for statement in node.body):
        return False  # most branches, which only compute
    nodes = walked(node.test)
    if has_modulus(nodes):
        return False
    if warns(node.body) and not only_speaks(node.body):
        return True
    told = {name for name in map(_called, node.body) if name}
    asks = any(isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr in _ASKS for n in nodes)
    if asks and told & (_WARNS | {"print", "debug"}):
        return True
    return bool(told & _WARNS) and any(isinstance(n, ast.Compare) and isinstance(n.ops[0], _LIMIT) for n in nodes)


def _called(statement: ast.stmt) -> str:
    """The name of what a statement calls; empty where it is no call."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    function = call.func if isinstance(call, ast.Call) else None
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def checks_for_nan(test: ast.expr) -> bool:
    """Whether a test looks for values that are not finite."""
    return any(name in NOT_FINITE or name in ("isfinite", "is_finite") for name in names_in(test)) or any(
        isinstance(node, ast.Compare) and _finds_nan(node) for node in ast.walk(test)
    )


def _finds_nan(test: ast.Compare) -> bool:
    """`x != x`, and `x == float("inf")`."""
    if len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq | ast.NotEq):
        return False
    left, right = ast.unparse(test.left), ast.unparse(test.comparators[0])
    return (left == right and isinstance(test.ops[0], ast.NotEq)) or bool(_INFINITE.match(right))


def counts_anomalies(test: ast.expr) -> bool:
    """`num_nans > 0`, `found_inf`: what has been looked for before, and is seldom there."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], _SOME):
        test = test.left
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")
    return _COUNTED.search(name) is not None


def is_finite_check(test: ast.expr) -> bool:
    """`math.isfinite(loss)`, also negated: what happens to a loss that is not finite is rare."""
    inner = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else test
    return isinstance(inner, ast.Call) and any(name in ("isfinite", "is_finite") for name in names_in(inner))
