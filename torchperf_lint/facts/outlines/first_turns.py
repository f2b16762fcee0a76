"""Blocks that show what the first few turns of a loop have come to: `if seen < 10: print(...)`.

Decided from one file's syntax, so outlines can hold the answer.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchperf_lint.facts.outlines.complaints import only_says
from torchperf_lint.facts.outlines.signatures import LOADER_NAME, iterated
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import children_of, names_of
from torchperf_lint.patterns import pattern

_FEW = 100
"""A greater bound is that of a phase, such as a warm-up."""
_SHOWS = pattern(
    r"^(?:save_?\w*|imshow|imsave|imwrite|savefig|add_(?:images?|figure|video|audio)|plot\w*|visuali[sz]e\w*)$"
)
_TRAINS = frozenset({"backward", "step", "zero_grad"})
_BELOW = (ast.Lt, ast.LtE)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def shows_the_first_few(node: ast.If, body: Sequence[ast.stmt]) -> bool:
    """Whether a branch of the function with this body prints or saves something in a loop's first few turns only."""
    name = next(filter(None, map(_bounded, _conjuncts(node.test))), None)
    return name is not None and _only_shows(node.body) and _is_counted(name, body)


def _conjuncts(test: ast.expr) -> Sequence[ast.expr]:
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def _bounded(test: ast.expr) -> str | None:
    """`seen` of `seen < 10`."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], _BELOW):
        return None
    bound = test.comparators[0].value if isinstance(test.comparators[0], ast.Constant) else None
    few = type(bound) is int and bound <= _FEW
    return test.left.id if few and isinstance(test.left, ast.Name) else None


def _only_shows(block: Sequence[ast.stmt]) -> bool:
    calls = {last_part(chain(part.func)) for s in block for part in ast.walk(s) if isinstance(part, ast.Call)}
    return not calls & _TRAINS and (any(map(only_says, block)) or any(map(_SHOWS.match, calls)))


def _is_counted(name: str, body: Sequence[ast.stmt]) -> bool:
    """Whether a loop counts a name up that no loop sets back, or numbers the batches of a loader with it."""
    counted = False
    for node, looped in _nodes(body):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
            counted = counted or (looped and isinstance(node.op, ast.Add))
        elif looped and isinstance(node, ast.Assign) and any(name in names_of(target) for target in node.targets):
            return False
        elif isinstance(node, ast.For) and name in names_of(node.target):
            if looped or not LOADER_NAME.search(iterated(node.iter)):
                return False
            counted = True
    return counted


def _nodes(body: Sequence[ast.stmt]) -> Iterator[tuple[ast.AST, bool]]:
    """The code of a function, and whether a loop of its own repeats it."""
    stack: list[tuple[ast.AST, bool]] = [(statement, False) for statement in body]
    while stack:
        node, looped = stack.pop()
        yield node, looped
        if not isinstance(node, _SCOPES):
            inside = looped or isinstance(node, _LOOPS)
            stack += [(child, inside) for child in children_of(node)]
