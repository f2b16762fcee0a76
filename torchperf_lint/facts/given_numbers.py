"""Objects to which the function at hand gives numbers only: `losses = AverageMeter()`, `losses.update(loss.item(), n)`.

What a class gathers counts as a tensor where any caller gives it tensors: beside the meter of the losses there may be
one of accuracies, which stay on the device. Of an object that is made here, what it is given here says more.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.bodies import Body
from torchperf_lint.facts.calls_within import calls_in
from torchperf_lint.facts.index import Thing
from torchperf_lint.facts.value import Frame, Value

if TYPE_CHECKING:
    from torchperf_lint.facts.values import Values

_BY_A_CALLER = "passed by the call"


def only_numbers_given(values: Values, owner: ast.expr, cls: Thing, shown: Value, frame: Frame) -> bool:
    """Whether a tensor that the class of `owner` shows comes from callers who have an object of their own."""
    body = values.body(frame.path)
    if body is None or not isinstance(owner, ast.Name) or _BY_A_CALLER not in shown.because:
        return False
    bound = body.definitions(frame.function).get(owner.id, ())
    if not bound or not all(isinstance(d.value, ast.Call) and d.how == "assign" for d in bound):
        return False
    given = [a for call in _calls_of(values, owner.id, cls, frame, body) for a in _arguments(call)]
    return bool(given) and all(_is_number(values, a, frame, body) for a in given)


def _calls_of(values: Values, name: str, cls: Thing, frame: Frame, body: Body) -> list[ast.Call]:
    """Calls of the object's methods in the function."""
    own = body.functions[frame.function]
    return [
        call
        for call in calls_in(*own.body)
        if isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == name
        and values.index.method(cls, call.func.attr) is not None
    ]


def _arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _is_number(values: Values, node: ast.expr, frame: Frame, body: Body) -> bool:
    return values.of(node, frame.hop(frame.path, frame.function, body.at(node))).kind == "plain"
