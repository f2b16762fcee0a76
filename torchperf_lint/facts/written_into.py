"""What code writes into a tensor that it has made: `table[:, 0::2] = torch.sin(angles)`, `mask[i, :k] = True`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts import effects
from torchperf_lint.facts.bodies import Body
from torchperf_lint.facts.constants import same_choice
from torchperf_lint.facts.records import Position
from torchperf_lint.facts.value import Frame
from torchperf_lint.facts.values import Values


def written_into(body: Body, function: int, name: str) -> Iterator[tuple[ast.expr, ast.expr]]:
    """(the subscript, what is put there) for each `name[...] = value` of a function, `name[0][i] += value` too."""
    if not body.definitions(function).get(name):
        return
    node = body.functions.get(function)
    for statement in effects.statements(node.body) if node is not None else ():
        if isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, ast.AugAssign):
            targets = [statement.target]
        else:
            continue
        for target in targets:
            if isinstance(target, ast.Subscript) and _bottom(target) == name:
                yield target, statement.value


def _bottom(node: ast.expr) -> str:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def steady_place(values: Values, target: ast.expr, frame: Frame, used: Position) -> bool:
    """Whether no step chooses where something is put: `[i, max(0, i - w):]` in loops over shapes and settings."""
    while isinstance(target, ast.Subscript):
        parts = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
        if not all(same_choice(values, part, frame, used) for part in parts):
            return False
        target = target.value
    return True
