"""Branches that ask a divisor whether it is zero: a clamp, or `torch.where`, keeps the division defined on the device.

    if n == 0:                                   return total / n.clamp(min=1)
        return 0.0
    return total / n

Where there is nothing to divide by, what is divided is zero as well, most often: the clamped quotient is the 0 that
the branch gives. Only where nothing but arithmetic hangs on the branch, which is cheaper than to wait for the answer.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from torchperf_lint.facts.outlines.masking import Known, is_cheap
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_literal

_SMALL = 1e-3
"""Up to here a number stands for zero: an epsilon."""
_COUNTS = frozenset({"any", "sum", "count_nonzero"})
_DIVIDE = frozenset({"div", "div_", "divide", "true_divide"})
_AS_NUMBER = frozenset({"float", "double", "half", "item", "detach", "to", "clamp"})


def asks_a_divisor(node: ast.If | ast.IfExp, known: Known, rest: Sequence[ast.stmt] = ()) -> bool:
    """Whether a branch only keeps a division by what it tests from being one by zero, or replaces such a divisor.

    `rest`: what runs where a branch without `else` is not taken and leaves its function.
    """
    asked = _all_asked(node.test)
    if asked is None:
        return False
    divisors, nonzero_first = asked
    if len(divisors) > 1 and isinstance(node, ast.If) and isinstance(node.body[-1], ast.Return):
        return False  # one of several cases that a function tells apart, as it does for numbers of the host
    first, second = _sides(node, rest)
    some, none = (first, second) if nonzero_first else (second, first)
    if not all(map(is_cheap, [*some, *none])) or not all(map(_is_simple, none)):
        return False
    names = {name for divisor in divisors for name in _spellings(divisor, known)}
    return any(_divides(value, names) for value in some) or _replaces(none, some, names)


def _all_asked(test: ast.expr) -> tuple[list[ast.expr], bool] | None:
    """What is compared with zero, of `a == 0 or b == 0`, and of `a > 0 and b > 0`, both; and whether the test holds
    where none of it is zero."""
    parts = test.values if isinstance(test, ast.BoolOp) else [test]
    asked = [found for part in parts if (found := _asked(part)) is not None]
    if len(asked) < len(parts):
        return None
    nonzero = {found[1] for found in asked}
    if isinstance(test, ast.BoolOp) and nonzero != {isinstance(test.op, ast.And)}:
        return None
    return [found[0] for found in asked], nonzero.pop()


def _asked(test: ast.expr) -> tuple[ast.expr, bool] | None:
    """What is compared with zero, and whether the test holds where it is not zero."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _asked(test.operand)
        return (inner[0], not inner[1]) if inner is not None else None
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and _is_zero(test.comparators[0]):
        operator = test.ops[0]
        if isinstance(operator, ast.Eq | ast.NotEq | ast.Gt | ast.GtE | ast.Lt | ast.LtE):
            return test.left, isinstance(operator, ast.NotEq | ast.Gt | ast.GtE)
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute) and test.func.attr == "any":
        return test, True
    return None


def _is_zero(node: ast.expr) -> bool:
    if isinstance(node, ast.Name | ast.Attribute):
        return last_part(chain(node)).lower().strip("_") in ("eps", "epsilon")
    number = node.value if isinstance(node, ast.Constant) else None
    return isinstance(number, int | float) and not isinstance(number, bool) and 0 <= number <= _SMALL


def _sides(node: ast.If | ast.IfExp, rest: Sequence[ast.stmt]) -> tuple[list[ast.expr], list[ast.expr]]:
    """The values of both sides; none of a side that does anything but to give names and the caller values."""
    if isinstance(node, ast.IfExp):
        return [node.body], [node.orelse]
    other = node.orelse or (rest if isinstance(node.body[-1], ast.Return) else ())
    first, second = _values(node.body), _values(other)
    return first or [], second or []


def _values(block: Sequence[ast.stmt]) -> list[ast.expr] | None:
    values = []
    for statement in block:
        if not isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Return) or not statement.value:
            return None
        operator = statement.op if isinstance(statement, ast.AugAssign) else None
        target = statement.target if isinstance(statement, ast.AugAssign) else None
        divided = isinstance(operator, ast.Div) and isinstance(target, ast.Name | ast.Attribute)
        values.append(ast.BinOp(target, operator, statement.value) if divided else statement.value)  # type: ignore[arg-type]
    return values


def _is_simple(value: ast.expr) -> bool:
    """What stands in for the quotient: a number, a tensor of one, or zero times something; no longer computation."""
    return sum(isinstance(part, ast.Call) for part in ast.walk(value)) <= 2


def _spellings(asked: ast.expr, known: Known) -> set[str]:
    """How the tested number may be written where it divides: by name, what that is bound to, `m.sum()` of a mask."""
    asked = _unread(asked)
    found = {ast.unparse(asked)}
    bound = _unread(known.bound(asked)) if isinstance(asked, ast.Name) else asked
    found.add(ast.unparse(bound))
    if isinstance(bound, ast.Call) and isinstance(bound.func, ast.Attribute) and bound.func.attr in _COUNTS:
        of_torch = chain(bound.func.value) == "torch" and len(bound.args) == 1
        mask = bound.args[0] if of_torch else bound.func.value
        if of_torch or not bound.args:
            found |= {_written(reduced, mask) for reduced in ("sum", "count_nonzero")}
            found.add(f"torch.sum({ast.unparse(mask)})")
    return found


def _written(method: str, of: ast.expr) -> str:
    return ast.unparse(ast.Call(ast.Attribute(of, method, ast.Load()), [], []))


def _unread(node: ast.expr) -> ast.expr:
    """`n` of `n.item()`, `float(n)`."""
    while isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr == "item":
            node = node.func.value
        elif isinstance(node.func, ast.Name) and node.func.id in ("bool", "int", "float") and len(node.args) == 1:
            node = node.args[0]
        else:
            break
    return node


def _divides(value: ast.expr, names: set[str]) -> bool:
    """Whether anything in a value is divided by one of these."""
    for part in ast.walk(value):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div) and _is_one(part.right, names):
            return True
        called = last_part(chain(part.func)) if isinstance(part, ast.Call) else ""
        if isinstance(part, ast.Call) and called in _DIVIDE and any(_is_one(a, names) for a in part.args[-1:]):
            return True
    return False


def _is_one(node: ast.expr, names: set[str]) -> bool:
    """One of these, or that as another type, or a factor of the divisor: `a / (n * c)`."""
    while ast.unparse(node) not in names:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            return _is_one(node.left, names) or _is_one(node.right, names)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _AS_NUMBER:
            node = node.func.value
        elif node is not (read := _unread(node)):
            node = read  # `float(n)`
        else:
            return False
    return True


def _replaces(none: Sequence[ast.expr], some: Sequence[ast.expr], names: set[str]) -> bool:
    """`d = 1 if n == 0 else n`: what the other side gives is the number itself."""
    constant = len(none) == 1 and is_literal(none[0], 1)
    return constant and len(some) == 1 and _is_one(some[0], names)
