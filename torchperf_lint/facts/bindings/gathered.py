"""Lists that a function fills itself: `grids = []`, then `grids.append(grid)` in a loop, then `torch.cat(grids)`."""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings import effects
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.syntax.chains import chain

_ADDS = frozenset({"append", "__len__"})


def gathered(body: Body, function: int, name: str, at: Position) -> list[ast.expr]:
    """All that is put into a list which begins empty; nothing where it may hold anything else."""
    if not is_empty_list(body.assigned_once(function, name, at)):
        return []
    changed = {use for use, _ in body.uses(function, name)} - _ADDS
    return list(body.stored_items(function, name)) if not changed else []


def is_empty_list(node: ast.expr | None) -> bool:
    """`[]`, `list()`."""
    if isinstance(node, ast.Call):
        return chain(node.func) == "list" and not node.args and not node.keywords
    return isinstance(node, ast.List | ast.Tuple) and not node.elts


def given_to(body: Body, function: int, name: str, method: str) -> list[ast.expr]:
    """What a function gives a method of a list of its own, in statements: `name.extend(others)`."""
    node = body.functions.get(function)
    calls = (s.value for s in effects.statements(node.body) if isinstance(s, ast.Expr)) if node is not None else ()
    written = f"{name}.{method}"
    return [c.args[0] for c in calls if isinstance(c, ast.Call) and len(c.args) == 1 and chain(c.func) == written]


def gone_through(body: Body, function: int, name: str, at: Position) -> list[ast.expr]:
    """What such a list holds whose elements a loop calls `name`, which nothing has used yet: `for grid in grids`."""
    reaching = body.reaching(function, name, at)
    only = reaching[0] if reaching and len(reaching) == 1 else None
    if only is None or only.how != "loop" or only.index or not isinstance(only.value, ast.Name):
        return []
    if body.mentions_between(function, name, only.end, at):
        return []
    return gathered(body, function, only.value.id, body.at(only.value))
