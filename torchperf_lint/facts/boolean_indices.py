"""Indices in host memory that are boolean masks: on the device they would be counted, for which the host waits.

    self.mask = ~torch.eye(n, dtype=torch.bool)     # on the host: its places are copied up, and nobody waits
    negatives = similarity[self.mask]               # of a mask on the device the host has to know how many are set

Integer indices on the device cost neither; a number is filled in through a mask on the device without a count.
"""

from __future__ import annotations

import ast
import re

from torchperf_lint.facts.chains import chain, last_part
from torchperf_lint.facts.left_behind import LeftBehind
from torchperf_lint.facts.spots import Spot
from torchperf_lint.patterns import pattern

_NAMED = pattern(r"(?:^|_)masks?(?:_|\d|$)", re.IGNORECASE)
"""No index of whole numbers is called a mask."""
_BOOLEAN = frozenset(("torch.bool", "bool", "np.bool_", "numpy.bool_", "torch.uint8"))
_MAKE = frozenset("bool logical_not logical_and logical_or logical_xor eq ne gt lt ge le isin isfinite isnan".split())
_VIEWS = frozenset("triu tril view reshape repeat expand fill_diagonal_ clone flatten unsqueeze squeeze t".split())


def boolean_index(spot: Spot, made: ast.Call | None, held: LeftBehind | None) -> ast.expr | None:
    """The mask that an index is, or the opposite of which it is, `~mask`; None for what is not known to be one.

    :param made: the factory that makes it; `held`: the attribute that it is
    """
    index = spot.expression
    assert isinstance(index, ast.expr)
    parent = spot.file.enclosing(spot.function).parents.get(index)
    if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Invert):
        return parent
    return index if _is_a_mask(spot, index, made) or (held is not None and _is_set_to_one(spot, held)) else None


def _is_set_to_one(spot: Spot, held: LeftBehind) -> bool:
    """`self.kept = ~torch.eye(n, dtype=torch.bool)`."""
    body, outline = spot.file.project.body(held.path), spot.file.project.index.outlines[held.path]
    region = spot.file.project.hotness.innermost(held.path, (held.line, 10**6))
    set_there = body.self_assignments(outline.regions[region].function) if body is not None else ()
    return any(name == held.name and value.lineno >= held.line and _is_boolean(value) for name, value, _ in set_there)


def _is_a_mask(spot: Spot, index: ast.expr, made: ast.Call | None) -> bool:
    """By its name, what it is bound to, or the factory that made it."""
    if _NAMED.search(last_part(chain(index))) or _is_boolean(index) or (made is not None and _is_boolean(made)):
        return True
    body = spot.file.project.body(spot.file.path)
    bound = body.assigned(spot.function, index.id, body.at(index)) if body and isinstance(index, ast.Name) else []
    return bool(bound) and all(map(_is_boolean, bound))


def fills_in_a_number(spot: Spot) -> bool:
    """`x[mask] = -inf`, which a mask on the device does without a count."""
    statement = spot.file.enclosing(spot.function).statement(spot.expression)
    if not isinstance(statement, ast.Assign) or not any(_holds(t, spot.expression) for t in statement.targets):
        return False
    return spot.file.value(statement.value, spot).kind == "plain"


def _holds(target: ast.expr, index: ast.AST) -> bool:
    return isinstance(target, ast.Subscript) and any(part is index for part in ast.walk(target))


def _is_boolean(node: ast.expr) -> bool:
    if isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert)):
        return True
    if not isinstance(node, ast.Call):
        return False
    dtypes = [chain(k.value) for k in node.keywords if k.arg == "dtype"]
    name = last_part(chain(node.func))
    if name in ("to", "type") and node.args:
        dtypes.append(chain(node.args[0]))
    if any(dtype in _BOOLEAN for dtype in dtypes) or name in _MAKE:
        return True
    return name in _VIEWS and isinstance(node.func, ast.Attribute) and _is_boolean(node.func.value)
