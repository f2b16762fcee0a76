"""What a function hands to a helper of its file, and where that uses it: `self.matched_loss(mask.nonzero(), x)`."""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchperf_lint.facts.call_graph.passed import by_place
from torchperf_lint.facts.files.spots import Spot
from torchperf_lint.facts.syntax.chains import chain


class Given(NamedTuple):
    """Where a helper uses what it is given."""

    function: int
    uses: list[ast.Name]


def uses_in_helper(spot: Spot, call: ast.AST | None, given: ast.AST) -> Given | None:
    """Where the one function that a call runs, of the same file, uses an argument; None where that is not seen."""
    if not isinstance(call, ast.Call) or any(isinstance(argument, ast.Starred) for argument in call.args):
        return None
    file = spot.file
    body, called = file.project.body(file.path), chain(call.func)
    targets = file.project.values.types.targets(file.path, spot.function, called) if called else []
    if body is None or len(targets) != 1 or targets[0].path != file.path or targets[0].index == spot.function:
        return None
    index = targets[0].index
    name = _parameter(by_place(file.outline.functions[index]), call, given)
    uses = [
        node
        for node in file.enclosing(index).of_kinds((ast.Name,))
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    ]
    first = [use for use in uses if not body.reaching(index, use.id, body.at(use))]
    return Given(index, first) if first else None


def _parameter(names: list[str], call: ast.Call, given: ast.AST) -> str | None:
    """The parameter that gets an argument."""
    if isinstance(given, ast.keyword):
        return given.arg
    place = next((place for place, argument in enumerate(call.args) if argument is given), len(names))
    return names[place] if place < len(names) else None
