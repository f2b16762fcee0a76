"""Reads whose answer a function hands back to be decided upon: `return bool(bad.any())`, `return int(x.argmax())`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.enclosing import Enclosing
from torchperf_lint.facts.syntax.syntax import Assignment, targets_of
from torchperf_lint.patterns import pattern

_PLACES = frozenset({"argmax", "argmin"})
_CONVERTS = frozenset({"int", "item"})
_OF_ANSWERS = frozenset({"any", "all", "bool"})


def is_answer(place: Place) -> bool:
    """Whether a number that is read is handed back as a truth (`return float(a) > limit`) or as a place in a list.

    The caller branches on the one and indexes with the other: what it decides stands in another function. The number
    may have a name in between: `self.accuracy = float(a)`, and then `return self.accuracy > limit`.
    """
    around = place.file.enclosing(place.function)
    assignment = next((n for n in around.ancestors(place.expression) if isinstance(n, Assignment)), None)
    if assignment is None:
        return _is_answer(around, place.expression)
    if assignment.value is None or any(isinstance(part, ast.Compare) for part in ast.walk(assignment.value)):
        return False
    names = {chain(target) for target in targets_of(assignment) if isinstance(target, ast.Name | ast.Attribute)}
    loads = [part for value in _returned_after(around, assignment) for part in ast.walk(value) if chain(part) in names]
    return any(_is_answer(around, load, named=True) for load in loads)


def _returned_after(around: Enclosing, statement: ast.stmt) -> Iterator[ast.expr]:
    """What the function returns right after a statement, in its block or behind the `with` around that."""
    block: ast.AST | None = statement
    while isinstance(block, ast.With) or block is statement:
        assert isinstance(block, ast.stmt)
        after = around.suite(block)[around.place_in_suite(block) + 1 :]
        yield from (s.value for s in after if isinstance(s, ast.Return) and s.value is not None)
        block = around.parents.get(block)


def _is_answer(around: Enclosing, read: ast.AST, named: bool = False) -> bool:
    compared = False
    node = read
    for parent in around.ancestors(read):
        if isinstance(parent, ast.Return):
            return compared or (not named and node is read and _is_place(node))
        if isinstance(parent, ast.Compare):
            if _asks_whether_finite(parent):
                return False  # a check, which can be made once in a while, or on the device
            compared = compared or not _of_identity(parent)
        if not compared and isinstance(parent, ast.comprehension | ast.GeneratorExp):
            return False
        if not isinstance(parent, _AROUND) and not _gives_truth(parent):
            return False
        node = parent
    return False


_AROUND = (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.GeneratorExp)


def _of_identity(node: ast.Compare) -> bool:
    return any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops)


def _asks_whether_finite(node: ast.Compare) -> bool:
    """`s == float("inf")`, `s == math.inf`, and `s != s`, which only NaN is."""
    sides = [ast.unparse(side) for side in (node.left, *node.comparators)]
    return len(set(sides)) < len(sides) or any(map(_NOT_FINITE.search, sides))


_NOT_FINITE = pattern(r"^-?(?:float\(['\"][+-]?(?:inf|infinity|nan)['\"]\)|(?:math|np|numpy|torch)\.(?:inf|nan))$")


def _gives_truth(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _OF_ANSWERS


def _is_place(node: ast.AST) -> bool:
    """`int(x.argmax())`, `int(x.argmax().item())`, `torch.argmin(x).item()`."""
    while isinstance(node, ast.Call):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called in _PLACES:
            return True
        if called not in _CONVERTS:
            return False
        inner = node.args[0] if node.args else getattr(node.func, "value", None)
        if inner is None:
            return False
        node = inner
    return False
