"""`torch.equal(query, key)` of what a caller passes: whether that is one tensor twice, the host knows without a wait.

    def forward(self, query, key, value):
        if torch.equal(query, key):        # compares every element and waits: `query is key` tells of self-attention
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.chains import chain
from torchperf_lint.facts.source import Place


def asks_if_same(place: Place) -> bool:
    """Whether a place compares two parameters of its function, which may be the same object, element by element."""
    call = place.expression
    if not isinstance(call, ast.Call) or chain(call.func) != "torch.equal" or len(call.args) != len(_SIDES):
        return False
    return all(_is_parameter(place, side) for side in call.args)


_SIDES = ("input", "other")


def _is_parameter(place: Place, node: ast.expr) -> bool:
    """Whether a name is a parameter, and bound to nothing else on the way to here."""
    if not isinstance(node, ast.Name):
        return False
    body = place.file.project.body(place.file.path)
    parameters = place.file.outline.functions[place.function].parameters
    bound = body.reaching(place.function, node.id, body.at(node)) if body is not None else None
    return not bound and any(parameter.name == node.id for parameter in parameters)
