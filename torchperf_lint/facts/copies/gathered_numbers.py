"""Tensors of one number that a comprehension gathers and one tensor is made of: `torch.tensor([t.sum() for t in x])`.

That reads each; `torch.stack` makes the same on the device.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import Spot, hot_nodes, spot_at
from torchperf_lint.facts.syntax.chains import chain

_MAKES = frozenset({"torch.tensor", "torch.as_tensor", "th.tensor", "th.as_tensor"})


def gathered_numbers(file: SourceFile) -> Iterator[tuple[Spot, ast.expr]]:
    """What a hot comprehension puts into a list that a tensor is made of, each with the expression that is read."""
    if not file.mentions(("tensor(",)):
        return
    for spot in hot_nodes(file, ast.ListComp):
        made = file.enclosing(spot.function).parents.get(spot.expression)
        if not isinstance(made, ast.Call) or spot.expression not in made.args or chain(made.func) not in _MAKES:
            continue
        assert isinstance(spot.expression, ast.ListComp)
        inner = spot_at(file, spot.expression.elt, spot.function)
        if inner is not None:
            yield inner, spot.expression.elt
