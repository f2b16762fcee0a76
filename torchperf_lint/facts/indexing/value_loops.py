"""Loops through the values that occur, `for c in labels.unique()`, whose turns do what all groups can do at once.

    for c in labels.unique():
        centres.append(x[labels == c].mean(0))

How many values there are has to be counted, and each turn waits for the rows of its own. Where a network runs on each
group's rows, or somebody keeps them, the loop is the price.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from torchperf_lint.facts.constants.tracing import Loop
from torchperf_lint.facts.indexing.group_masks import of_loop
from torchperf_lint.facts.indexing.purposes import BY_GROUP, GROUPS, LOST, REDUCED, WRITTEN
from torchperf_lint.facts.indexing.selected import purpose
from torchperf_lint.facts.indexing.selections import DISTINCT, Selection
from torchperf_lint.facts.syntax.chains import chain, last_part

_AT_ONCE = (REDUCED, LOST, WRITTEN)
_LISTED = frozenset({"tolist", "cpu", "long", "int"})
"""What may be called of the values before a loop takes them."""


def of_groups(selection: Selection, found: Sequence[Selection]) -> str | None:
    """What the rows of the values are selected for in the loop that goes through them; None where that needs the loop.

    BY_GROUP: the samples of a batch, whose rows are cut apart; GROUPS: what is reduced, or computed row by row.
    """
    loop = _loop_over(selection)
    if loop is None:
        return None
    purposes = {purpose(one) for one in found if of_loop(one, loop, selection.mask)}
    if purposes == {BY_GROUP}:
        return BY_GROUP
    return GROUPS if purposes and purposes.issubset(_AT_ONCE) else None


def _loop_over(selection: Selection) -> Loop | None:
    """The loop that takes each of the values that a call gives."""
    node, spot = selection.spot.expression, selection.spot
    if selection.form != DISTINCT or not isinstance(node, ast.Call) or node.keywords:
        return None
    parents = spot.file.enclosing(spot.function).parents
    current: ast.AST = node
    while isinstance(call := parents.get(parents.get(current)), ast.Call):  # type: ignore[arg-type]
        if not isinstance(call.func, ast.Attribute) or last_part(chain(call.func)) not in _LISTED:
            return None
        current = call
    loop = parents.get(current)
    return loop if isinstance(loop, ast.For | ast.comprehension) and loop.iter is current else None
