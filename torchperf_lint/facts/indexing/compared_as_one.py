"""Tensors that are one number, as a test of the function shows: `if pred != label:`, then `scores[label]`.

No test has an answer where several numbers are compared. One number may still have a dimension, `pred` of a batch of
one, and index without a read: so what binds the name has to pick, too, as `labels[i]` and `x.min(0)` do.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.files.source import Place, SourceFile
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_literal

_ORDERS = ast.Lt | ast.Gt | ast.LtE | ast.GtE | ast.Eq | ast.NotEq
_CALLERS = 4


def is_compared_as_one(file: SourceFile, place: Place, index: ast.expr) -> bool:
    """Whether an index is a name for a picked element that a test of the function compares as one number."""
    body = file.project.body(file.path)
    if not isinstance(index, ast.Name) or body is None:
        return False
    around = file.enclosing(place.function)
    bound = body.reaching(place.function, index.id, body.at(index))
    for test in around.of_kinds((ast.Compare,)):
        assert isinstance(test, ast.Compare)
        sides = [side for side in (test.left, *test.comparators) if isinstance(side, ast.Name) and side.id == index.id]
        if not sides or not isinstance(test.ops[0], _ORDERS) or not _decides(test, around.parents):
            continue
        if body.reaching(place.function, index.id, body.at(sides[0])) == bound:
            return _is_given_an_element(file, place, index.id) if bound is None else all(map(_picks, bound))
    return False


def _decides(test: ast.Compare, parents: dict[ast.AST, ast.AST]) -> bool:
    node: ast.AST = test
    parent = parents.get(test)
    while isinstance(parent, ast.BoolOp) or (isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)):
        node, parent = parent, parents.get(parent)
    return isinstance(parent, ast.If | ast.IfExp | ast.While | ast.Assert) and parent.test is node


def _picks(definition: Definition) -> bool:
    """`label = labels[i]`; `_, worst = torch.min(margins, 0)`, of margins that have no other dimension."""
    value = definition.value
    if definition.how == "assign":
        return _is_element(value)
    call = value if definition.how == "item" and isinstance(value, ast.Call) else None
    if call is None or last_part(chain(call.func)) not in api.PAIR_METHODS:
        return False
    if any(k.arg != "dim" for k in call.keywords):
        return False  # `keepdim=True`
    told = [k.value for k in call.keywords if k.arg == "dim"] or call.args[-1:]
    return len(told) == 1 and is_literal(told[0], 0)


def _is_element(node: ast.expr | None) -> bool:
    """`labels[i]`."""
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name)


def _is_given_an_element(file: SourceFile, place: Place, name: str) -> bool:
    """Whether each call of the function passes `labels[i]` for a parameter."""
    values, record = file.project.values, file.outline.functions[place.function]
    callers = values.hotness.callers.get(FunctionKey(file.path, place.function), ())
    if not 0 < len(callers) <= _CALLERS or all(parameter.name != name for parameter in record.parameters):
        return False  # a constant of the module, compared with a parameter, is given by none
    calls = (call_at(values, caller) for caller in callers)
    return all(call is not None and _is_element(argument_for(call, record, name)) for call in calls)
