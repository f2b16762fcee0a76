"""Loops that get the keys of a dict, known by what the function does with it beside.

    for key in losses:                       batch[name] = ...
        total = total + losses[key]          for key in batch:
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.syntax import nodes_of
from torchperf_lint.facts.values.value import HOST, Value


def gives_keys(value: Value, name: str, d: Definition, function: int, body: Body) -> bool:
    """Whether a loop over `value` binds a name to keys: where something is put under keys of it, or what a model gives
    is asked for what lies under the name."""
    if d.how != "loop" or d.value is None:
        return False
    if isinstance(d.value, ast.Name) and body.put_under(function, d.value.id):
        return True
    of_model = not d.index and value.kind == "tensor" and value.device != HOST
    return of_model and _looks_up_by(body.functions.get(function), d.value, name)


def _looks_up_by(scope: ast.AST | None, iterated: ast.expr, name: str) -> bool:
    written = chain(iterated) if isinstance(iterated, ast.Name | ast.Attribute) else ""
    subscripts = (n for n in nodes_of(scope) if isinstance(n, ast.Subscript)) if scope is not None and written else ()
    return any(isinstance(n.slice, ast.Name) and n.slice.id == name and chain(n.value) == written for n in subscripts)
