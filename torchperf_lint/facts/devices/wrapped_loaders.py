"""Batches that an object hands over from the loader it was made with: on the device where that loader's are.

    batches = Cycle(loader)          # `loader` of this function: Fabric set it up, elsewhere another is left as it is
    while step < steps:
        batch = next(batches)

What the class gives is a batch of any of its objects' loaders; this one's is known where the object is made.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.values.value import Frame, Value

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values


def from_its_loader(values: Values, node: ast.expr, batch: Value, frame: Frame) -> Value:
    """A batch that `next(node)` gives, where the loader's are that the object was made with in the same function."""
    body = values.body(frame.path)
    if body is None or not isinstance(node, ast.Name) or batch.kind != "batch":
        return batch
    made = body.assigned_once(frame.function, node.id, frame.at)
    if not isinstance(made, ast.Call):
        return batch
    there = frame.back(body.at(made), body.at(made))
    given = [values.of(argument, there) for argument in (*made.args, *(k.value for k in made.keywords))]
    loaders = [value for value in given if value.kind == "loader"]
    if len(loaders) != 1:
        return batch
    return batch._replace(device=loaders[0].device, origins=loaders[0].origins or batch.origins)
