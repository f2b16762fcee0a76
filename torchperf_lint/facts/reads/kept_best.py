"""The best that a search has found so far, which a test of each turn keeps: the least loss, and what had it.

    best, kept = float("inf"), x.detach().clone()
    for _ in range(steps):
        if loss < best:                          # better = loss < best
            best = loss                          # best = torch.where(better, loss, best)
            kept = x.detach().clone()            # kept = torch.where(better, x.detach(), kept)
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.syntax.syntax import below

_SAME = frozenset({"detach", "clone"})
_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def is_kept_extreme(choice: ast.If, name: str) -> bool:
    """Whether a branch gives a name what its test has just found to be beyond it: a number, or a tensor of one."""
    test = choice.test
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], _ORDERS) or choice.orelse:
        return False
    sides = [ast.unparse(below(side, _SAME)) for side in (test.left, test.comparators[0])]
    given = [s.value for s in choice.body if isinstance(s, ast.Assign) and ast.unparse(s.targets[0]) == name]
    return len(given) == 1 and sorted(sides) == sorted((name, ast.unparse(below(given[0], _SAME))))


def is_bound_alike(place: Place, name: str) -> bool:
    """Whether all that a function binds a name to is written alike: what a search starts with, and what it finds."""
    body = place.file.project.body(place.file.path)
    bound = body.definitions(place.function).get(name, []) if body is not None else []
    written = {ast.unparse(d.value) if d.how == "assign" and d.value is not None else "" for d in bound}
    return len(bound) > 1 and len(written) == 1 and "" not in written
