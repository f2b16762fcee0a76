"""Arrays of one number, which numpy fills on the host: `np.ones((n, 1))`, `np.full(shape, 0.9)`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.constants.changed_in_place import base_of, changed, given_for_effect
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import nodes_of
from torchperf_lint.facts.values.value import Frame

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_FILL = frozenset({"ones", "zeros", "ones_like", "zeros_like"})


def is_filled_array(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether an expression is a call by which numpy makes an array of one number, whatever its shape."""
    if not isinstance(node, ast.Call) or not node.args or not isinstance(node.func, ast.Attribute | ast.Name):
        return False
    thing = values.thing(node.func, frame)
    if thing is None or thing.kind != "external" or not thing.dotted.startswith("numpy."):
        return False
    name = last_part(thing.dotted)
    if name == "full":
        return len(node.args) > 1 and isinstance(node.args[1], ast.Constant)
    return name in _FILL


def is_drawn_into(body: Body, scope: int, name: str, made: Sequence[Definition]) -> bool:
    """Whether a call may write into an array that a name holds: `mask = np.zeros(shape)`, `cv2.fillPoly(mask, ...)`."""
    if not any(isinstance(d.value, ast.Call) and last_part(chain(d.value.func)) in _TO_FILL for d in made):
        return False
    for statement in body.statements(scope):
        given = [base_of(argument) for argument in given_for_effect(statement)]
        outs = [base_of(into) for node in nodes_of(statement) if isinstance(node, ast.Call) for into in changed(node)]
        if name in (*given, *outs):
            return True
    return False


_TO_FILL = frozenset({"zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like"})
