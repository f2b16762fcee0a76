"""Tests that tell a number from a tensor, and whether all that a function gives back went through them.

    if isinstance(x, float):        # also `not torch.is_tensor(x)`, `not hasattr(x, "item")`
        return x                    # <- a number
    if x.dim() > 0:
        return x                    # <- a tensor: how many elements it has makes it no number

`x[0]` is the one element beside a test of torch's version alone: of old it was read so.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import nodes_of

_NUMBERS = frozenset(
    "int float bool complex str number Number Real integer floating int64 int32 float32 float64".split()
)
_OF_OLD = "torch.__version__"

Told = Callable[[ast.expr], str | None]
"""What is returned, or bound: `read`, `as it is`, `element`."""


def ends_in_numbers(function: ast.FunctionDef, name: str, told: Told) -> bool:
    """Whether each way through a function ends in a number: the parameter read, or known to be one before."""
    return _Ways(name, told).go(function.body, False, False) is not None


class _Ways:
    """The ways through one function."""

    def __init__(self, name: str, told: Told) -> None:
        self.name, self.told = name, told

    def go(self, block: Sequence[ast.stmt], known: bool, of_old: bool) -> bool | None:
        """Whether the parameter is a number behind a block, where it was one before; None for a tensor given back."""
        for statement in block:
            behind = self._past(statement, known, of_old)
            if behind is None:
                return None
            known = behind
        return known

    def _past(self, statement: ast.stmt, known: bool, of_old: bool) -> bool | None:
        if isinstance(statement, ast.Return):
            return True if statement.value is not None and self._is_number(statement.value, known, of_old) else None
        if isinstance(statement, ast.If):
            if_so, if_not = tells_numbers(statement.test, self.name)
            old = of_old or _asks_version(statement.test)
            ways = self.go(statement.body, known or if_so, old), self.go(statement.orelse, known or if_not, old)
            return None if None in ways else all(ways)
        if isinstance(statement, ast.Try) and not statement.orelse and not statement.finalbody:
            # Nothing but a missing `item` shows that it is no tensor: that of many elements is a RuntimeError.
            missing = all(h.type is not None and chain(h.type) == "AttributeError" for h in statement.handlers)
            tried = self.go(statement.body, known, of_old)
            caught = [self.go(handler.body, known or missing, of_old) for handler in statement.handlers]
            return None if tried is None or None in caught else tried and all(caught)
        if isinstance(statement, ast.Assign) and any(chain(target) == self.name for target in statement.targets):
            return self._is_number(statement.value, known, of_old) if len(statement.targets) == 1 else None
        if isinstance(statement, ast.Raise):
            return True
        return known if isinstance(statement, ast.Expr | ast.Assert | ast.Pass | ast.Assign) else None

    def _is_number(self, node: ast.expr, known: bool, of_old: bool) -> bool:
        if isinstance(node, ast.IfExp):
            if_so, if_not = tells_numbers(node.test, self.name)
            first = self._is_number(node.body, known or if_so, of_old)
            return first and self._is_number(node.orelse, known or if_not, of_old)
        kind = self.told(node)
        return kind == "read" or (kind == "as it is" and known) or (kind == "element" and of_old)


def tells_numbers(test: ast.expr, name: str) -> tuple[bool, bool]:
    """Whether a test that holds, and one that does not, shows a name to be no tensor."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        if_so, if_not = tells_numbers(test.operand, name)
        return if_not, if_so
    if isinstance(test, ast.BoolOp):
        so, nots = zip(*(tells_numbers(part, name) for part in test.values), strict=True)
        return (any(so), all(nots)) if isinstance(test.op, ast.And) else (all(so), any(nots))
    if not isinstance(test, ast.Call) or not test.args or chain(test.args[0]) != name:
        return False, False
    asked = last_part(chain(test.func))
    if asked == "is_tensor":
        return False, True
    if len(test.args) != 2:
        return False, False
    if asked == "hasattr":
        return False, isinstance(test.args[1], ast.Constant) and test.args[1].value == "item"
    if asked != "isinstance":
        return False, False
    given = test.args[1].elts if isinstance(test.args[1], ast.Tuple) else [test.args[1]]
    kinds = {last_part(chain(kind)) for kind in given}
    return kinds <= _NUMBERS, "Tensor" in kinds or kinds == {"Variable"}


def _asks_version(test: ast.expr) -> bool:
    return any(isinstance(part, ast.Attribute) and chain(part) == _OF_OLD for part in nodes_of(test))
