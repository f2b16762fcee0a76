"""Searches for the number of a step in the very table that the loop goes through: the host could count instead.

    for t in scheduler.timesteps:                       def step(self, output, t, sample):
        sample = scheduler.step(model(sample), t)           i = (self.timesteps == t).nonzero()

What the search finds is how many turns the loop has made, which `enumerate` tells without a look at the device.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.indexing.selections import INDICES, Selection
from torchperf_lint.facts.outlines.records import Region
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_none
from torchperf_lint.facts.syntax.syntax import names_of


def finds_own_step(selection: Selection) -> bool:
    """Whether a search compares a table with the element of it that the loop around, or around the call, is at."""
    spot, loop = selection.spot, _loop(selection)
    mask = selection.mask
    compared = isinstance(mask, ast.Compare) and len(mask.ops) == 1 and isinstance(mask.ops[0], ast.Eq)
    if loop is None or selection.form != INDICES or not compared or _only_at_first(selection):
        return False
    sides = (mask.left, mask.comparators[0])  # type: ignore[attr-defined]
    own = spot.file.outline.functions[spot.function].parameters
    turned = {parameter.name for parameter in own} if spot.hot.depth else _targets(loop)
    for table, wanted in (sides, sides[::-1]):
        if isinstance(wanted, ast.Name) and wanted.id in turned and _table(selection, table) == _gone_through(loop):
            return True
    return False


def _loop(selection: Selection) -> Region | None:
    """The loop that runs a search, where it stands around that, or calls its function itself."""
    hot = selection.spot.hot
    if hot.loop is None or hot.depth > 1:
        return None  # what another function asks for, it may ask for at the first step alone
    path, region = hot.loop
    return selection.spot.file.project.index.outlines[path].regions[region]


def _gone_through(loop: Region) -> str:
    """`timesteps` of `for i, t in enumerate(tqdm(scheduler.timesteps))`."""
    return last_part(loop.iterable)


def _targets(loop: Region) -> set[str]:
    """The variables that a loop binds."""
    try:
        return names_of(ast.parse(loop.detail.partition(" in ")[0].removeprefix("for ").strip(), mode="eval"))
    except SyntaxError:
        return set()


def _table(selection: Selection, node: ast.expr) -> str:
    """What a table is called that is searched: by its own name, or by that of the attribute that it is bound to."""
    body = selection.spot.file.project.body(selection.spot.file.path)
    if isinstance(node, ast.Name) and body is not None and selection.spot.hot.depth:
        bound = body.assigned_once(selection.spot.function, node.id, body.at(node))
        node = bound if bound is not None else node
    return last_part(chain(node)) or "?"


def _only_at_first(selection: Selection) -> bool:
    """Whether a search stands behind `if self.step_index is None`: the steps after the first count on from there."""
    spot = selection.spot
    parents = spot.file.enclosing(spot.function).parents
    node: ast.AST | None = spot.expression
    while (node := parents.get(node) if node is not None else None) is not None:
        if isinstance(node, ast.If | ast.IfExp) and any(_asks_for_none(part) for part in ast.walk(node.test)):
            return True
    return False


def _asks_for_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Compare) and any(is_none(side) for side in node.comparators)
