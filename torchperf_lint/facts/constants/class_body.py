"""What the body of a class tells of its attributes: `pc_range = [0, -40, -3, 70.4, 40, 1]`, `sizes: list[int]`."""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.hints import gives_numbers, is_numeric
from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.values.values import Values


def assigned_in_class(values: Values, cls: Thing, name: str) -> list[ast.expr]:
    """The values that the body of one class gives a name; none where a field is only annotated."""
    body = values.body(cls.path) if cls.kind == "class" else None
    node = body.classes.get(values.index.record(cls).line) if body is not None else None
    found: list[ast.expr] = []
    for statement in node.body if node is not None else ():
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            found += [statement.value for target in targets if isinstance(target, ast.Name) and target.id == name]
    return found


def is_property_of_numbers(values: Values, cls: Thing, name: str) -> bool:
    """Whether a property is annotated to give a list of floating-point numbers: what an object is made with."""
    key = values.index.method(cls, name)
    if key is None or "property" not in values.index.function(key).decorators:
        return False
    body = values.body(key.path)
    return body is not None and gives_numbers(body, key.index)


def is_field(values: Values, cls: Thing, name: str) -> bool:
    """Whether a record's field, which no method sets, is annotated to be a number or a list of them."""
    body = values.body(cls.path)
    field = body.annotated_fields(values.index.record(cls).line).get(name) if body is not None else None
    return field is not None and is_numeric(field.annotation)
