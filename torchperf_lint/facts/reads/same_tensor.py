"""`torch.equal(query, key)` of what a caller passes: whether that is one tensor twice, the host knows without a wait.

    def forward(self, query, key, value):
        if torch.equal(query, key):        # compares every element and waits: `query is key` tells of self-attention

Two other parameters are most often two tensors; they count only where a call in the project passes one twice.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.syntax.chains import chain


def asks_if_same(place: Place) -> bool:
    """Whether a place compares two parameters of its function, which may be the same object, element by element."""
    call = place.expression
    if not isinstance(call, ast.Call) or chain(call.func) != "torch.equal" or len(call.args) != len(_SIDES):
        return False
    if not all(_is_parameter(place, side) for side in call.args):
        return False
    one, other = (chain(side) for side in call.args)
    return _attends(place, {one, other}) or _is_passed_twice(place, one, other)


_SIDES = ("input", "other")
_IN_FULL = frozenset({"query", "key", "value"})
_ATTENDED = _IN_FULL | {"q", "k", "v"}


def _attends(place: Place, names: set[str]) -> bool:
    """Whether these are what the attention of a module is given, which is one tensor in self-attention.

    A function is given them by their full names, as torch's `multi_head_attention_forward` is.
    """
    if names <= _IN_FULL:
        return True
    project = place.file.project
    own = project.index.class_of(place.file.path, place.function)
    return names <= _ATTENDED and own is not None and project.types.is_module_class(own)


def _is_passed_twice(place: Place, one: str, other: str) -> bool:
    """Whether a call in the project passes the same name for both parameters."""
    values, function = place.file.project.values, place.file.outline.functions[place.function]
    callers = place.file.project.hotness.callers.get(FunctionKey(place.file.path, place.function), ())
    for node in (call_at(values, site) for site in callers):
        given = argument_for(node, function, one) if node is not None else None
        again = argument_for(node, function, other) if node is not None else None
        if isinstance(given, ast.Name | ast.Attribute) and again is not None and ast.dump(given) == ast.dump(again):
            return True
    return False


def _is_parameter(place: Place, node: ast.expr) -> bool:
    """Whether a name is a parameter, and bound to nothing else on the way to here."""
    if not isinstance(node, ast.Name):
        return False
    body = place.file.project.body(place.file.path)
    parameters = place.file.outline.functions[place.function].parameters
    bound = body.reaching(place.function, node.id, body.at(node)) if body is not None else None
    return not bound and any(parameter.name == node.id for parameter in parameters)
