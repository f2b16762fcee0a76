"""What a function returns for one call, where literals that it is given settle which of its returns that is.

    def to_var(x, gpu=True):
        return x.cuda() if gpu else x

    to_var(weights, gpu=False)      # `x`: it stays where it is
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.hints import default_of
from torchperf_lint.facts.call_graph.passed import argument_for
from torchperf_lint.facts.outlines.records import Function
from torchperf_lint.facts.syntax.arguments import unpacks
from torchperf_lint.facts.syntax.literals import is_none

_SIMPLE = (ast.Assign, ast.Expr, ast.AugAssign, ast.AnnAssign, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
"""Statements in which no `return` of the function stands, as most are."""
_Decided = Callable[[ast.expr], bool | None]


def returns_of_call(call: ast.Call, body: Body, index: int, function: Function) -> list[ast.expr] | None:
    """What a call may give, of all that its function returns; None where its arguments settle nothing."""
    node = body.functions.get(index)
    if not isinstance(node, ast.FunctionDef) or unpacks(call):
        return None
    if not _may_settle(call, node.args):
        return None
    settled = False
    names = {parameter.name for parameter in function.parameters} - body.definitions(index).keys()

    def decided(test: ast.expr) -> bool | None:
        nonlocal settled
        if isinstance(test, ast.BoolOp):
            return _together(test, decided)
        name = _asked_of(test)
        given = (argument_for(call, function, name) or default_of(node, name)) if name in names else None
        if not isinstance(given, ast.Constant):
            return None
        settled = True
        return _truth(test, given.value)

    found = list(_returned(node.body, decided))
    return found if settled else None


def _together(test: ast.BoolOp, decided: _Decided) -> bool | None:
    """`real and repeated`: False where one is, whatever the others are; True where all are. `or` the other way."""
    alone = isinstance(test.op, ast.Or)  # what one of them settles for all
    found = [decided(part) for part in test.values]
    return alone if alone in found else None if None in found else not alone


def _may_settle(call: ast.Call, taken: ast.arguments) -> bool:
    """Whether a literal is among what a call gives, or among the defaults of what it calls."""
    given = (*call.args, *(keyword.value for keyword in call.keywords))
    return ast.Constant in map(type, (*given, *taken.defaults, *taken.kw_defaults))


def _asked_of(test: ast.expr) -> str:
    """The name that a test asks about alone: `gpu`, `not gpu`, `device is None`; empty for other tests."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _asked_of(test.operand)
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is | ast.IsNot) and is_none(test.comparators[0]):
        test = test.left if len(test.ops) == 1 else test
    return test.id if isinstance(test, ast.Name) else ""


def _truth(test: ast.expr, value: object) -> bool:
    if isinstance(test, ast.UnaryOp):
        return not _truth(test.operand, value)
    if isinstance(test, ast.Compare):
        return (value is None) is isinstance(test.ops[0], ast.Is)
    return bool(value)


def _returned(statements: Sequence[ast.stmt], decided: _Decided) -> Iterator[ast.expr]:
    """What the returns of a block give, without the branches that are settled not to be taken."""
    for statement in statements:
        if isinstance(statement, ast.Return):
            yield from _chosen(statement.value, decided) if statement.value is not None else ()
            return
        truth = decided(statement.test) if isinstance(statement, ast.If) else None
        if isinstance(statement, ast.If) and truth is not None:
            taken = statement.body if truth else statement.orelse
            yield from _returned(taken, decided)
            if taken and isinstance(taken[-1], ast.Return | ast.Raise):
                return
            continue
        if isinstance(statement, _SIMPLE):
            continue
        for field in ("body", "orelse", "finalbody"):
            yield from _returned(getattr(statement, field, []), decided)
        for part in [*getattr(statement, "handlers", []), *getattr(statement, "cases", [])]:
            yield from _returned(part.body, decided)


def _chosen(node: ast.expr, decided: _Decided) -> Iterator[ast.expr]:
    truth = decided(node.test) if isinstance(node, ast.IfExp) else None
    if isinstance(node, ast.IfExp) and truth is not None:
        yield from _chosen(node.body if truth else node.orelse, decided)
    else:
        yield node
