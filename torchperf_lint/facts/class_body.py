"""What the body of a class sets its attributes to: `pc_range = [0, -40, -3, 70.4, 40, 1]`."""

from __future__ import annotations

import ast

from torchperf_lint.facts.index import Thing
from torchperf_lint.facts.values import Values


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
