"""Lists that begin empty before a loop, which does nothing with them but append: who reads them does so after it.

    losses = []
    for x, y in loader:
        losses.append(loss.item())
    print(sum(losses) / len(losses))

Tensors may be gathered in such a list, and read in one copy behind the loop. A queue, a meter or a list that the loop
looks at needs its numbers at once.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.syntax.enclosing import Enclosing

_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def is_only_appended_to(place: Place, call: ast.Call) -> bool:
    """Whether a call of a method around `place` is the only use that the loop has of a list that began empty."""
    whole = call.func.value if isinstance(call.func, ast.Attribute) else None
    body, around = place.file.project.body(place.file.path), place.file.enclosing(place.function)
    if body is None or not isinstance(whole, ast.Name):
        return False
    bound = body.reaching(place.function, whole.id, place.frame.at)
    if not bound or not all(_begins_empty(around, definition) for definition in bound):
        return False
    begun = min(definition.at for definition in bound)
    end = _end_of_loop(body, around, call, [definition.at for definition in bound])
    return end is not None and all(
        read is whole or (read in around.parents and not begun <= body.at(read) <= end)
        for read in body.reads(place.function, whole.id)
    )


def _begins_empty(around: Enclosing, definition: Definition) -> bool:
    """`losses = []`, `losses = list()`, `losses, norms = [], []`; and not `losses = kept = []`, which is one list."""
    node: ast.expr | None = definition.value
    statement = around.statement(node) if node is not None else None
    if isinstance(statement, ast.Assign) and len(statement.targets) > 1:
        return False
    for index in definition.index:
        node = node.elts[index] if isinstance(node, ast.Tuple | ast.List) and index < len(node.elts) else None
    if definition.how not in ("assign", "item"):
        return False
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "list"
    return (isinstance(node, ast.List) and not node.elts) or (called and not node.args)  # type: ignore[union-attr]


def _end_of_loop(body: Body, around: Enclosing, node: ast.expr, bound: Sequence[Position]) -> Position | None:
    """Where the outermost loop around a node ends in which nothing is bound; None where there is none."""
    found = None
    for loop in around.around(node):
        if isinstance(loop, _LOOPS):
            end = body.at(loop, end=True)
            if any(body.at(loop) <= at <= end for at in bound):
                break
            found = end
    return found
