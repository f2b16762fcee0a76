"""Attributes that begin as numbers and become tensors: `self.tokens += (y >= 0).sum()`, and then `if self.tokens < n:`.

A number to which a tensor is added is a tensor, on the tensor's device, until it is set anew.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values.value import UNKNOWN, Frame, Value

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult)


def added_before(values: Values, node: ast.Attribute, frame: Frame) -> Value:
    """The tensor that the function has added to an attribute before it is read; UNKNOWN where it adds none."""
    body, written = values.body(frame.path), chain(node)
    if body is None or f"{written}[" not in body.augmented(frame.function):
        return UNKNOWN
    added: ast.AugAssign | None = None
    for statement in body.statements(frame.function):
        if not added and statement.lineno >= node.lineno:
            break
        if isinstance(statement, ast.AugAssign) and chain(statement.target) == written:
            added = statement if statement.lineno < node.lineno else added
        elif isinstance(statement, ast.Assign) and any(chain(target) == written for target in statement.targets):
            added = added if statement.lineno >= node.lineno else None
    if added is None or not isinstance(added.op, _ARITHMETIC):
        return UNKNOWN
    found = values.of(added.value, frame._replace(at=body.at(added.value)))
    return found if found.kind == "tensor" else UNKNOWN
