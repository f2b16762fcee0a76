"""Lists of the heights and widths of several tensors: `[f.shape[-2:] for f in features]`, or filled by a loop.

A model's feature maps come in a list as long as the model has levels, and their sides follow from the size of the
input. First sizes are left out: of a list of samples, `[len(s) for s in samples]`, those are data of the step.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.constants.configured import CONFIGURED, GIVEN, LITERAL
from torchperf_lint.facts.syntax.chains import chain, last_part

if TYPE_CHECKING:
    from torchperf_lint.facts.constants.constants import Look

_MAX_STEPS = 6
_TAKE_APART = frozenset({"enumerate", "zip", "reversed", "list"})


def lists_sides(look: Look, node: ast.ListComp | ast.GeneratorExp) -> bool:
    """Whether a comprehension goes over tensors and takes nothing but their sides, and numbers that stay the same."""
    over = [generator.iter for generator in node.generators]
    plain = len(over) == 1 and not node.generators[0].ifs
    return plain and _are_tensors(look, over[0]) and _takes_sides(look, node.elt)


def filled_with_sides(
    look: Look, body: Body, scope: int, reaching: list[Definition], stored: tuple[ast.expr, ...]
) -> bool:
    """Whether loops over tensors fill a list that started empty, each turn with the sides of one."""
    if scope != look.frame.function or not stored or len(reaching) != 1 or reaching[0].how != "assign":
        return False
    base = reaching[0].block
    for value in stored:
        inner = body.block_of(scope, body.at(value))
        if inner[: len(base)] != base or len(inner) != len(base) + 1 or inner[-1][1] != "loop":
            return False
        over = body.loop_iterable(scope, inner[-1][0])
        if over is None or not _are_tensors(look.inside(at=body.at(over)), over):
            return False
        if not _takes_sides(look.inside(at=body.at(value)), value):
            return False
    return True


def _are_tensors(look: Look, over: ast.expr) -> bool:
    """Whether what a loop goes over is a list of tensors, or may be one, as sides are asked of what it holds."""
    if isinstance(over, ast.Call):
        name = chain(over.func)
        if name == "range" and len(over.args) == 1 and isinstance(over.args[0], ast.Call):
            return chain(over.args[0].func) == "len" and all(_are_tensors(look, a) for a in over.args[0].args)
        return name in _TAKE_APART and bool(over.args) and any(_are_tensors(look, a) for a in over.args)
    value = look.values.of(over, look.frame)
    if value.kind == "sequence":
        return value.item is None or value.item.kind in ("tensor", "batch", "unknown")
    return value.kind == "unknown" and isinstance(over, ast.Name | ast.Attribute)


def _takes_sides(look: Look, node: ast.expr) -> bool:
    """Whether an expression holds a side of a tensor at least, and beside those only numbers that stay the same."""
    parts = _leaves(node)
    sides = [_is_side(look, part, _MAX_STEPS) for part in parts]
    others = (part for part, side in zip(parts, sides, strict=True) if not side)
    return any(sides) and all(look.of(part, 1) in (LITERAL, CONFIGURED, GIVEN) for part in others)


def _leaves(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.List | ast.Tuple):
        return [leaf for part in node.elts for leaf in _leaves(part)]
    if isinstance(node, ast.BinOp):
        return [*_leaves(node.left), *_leaves(node.right)]
    if isinstance(node, ast.Call) and chain(node.func) in ("int", "float", "list", "tuple") and len(node.args) == 1:
        return _leaves(node.args[0])
    return [node.value] if isinstance(node, ast.Starred) else [node]


def _is_side(look: Look, node: ast.expr, steps: int) -> bool:
    """`f.shape[-2:]`, `f.size(2)`, or a name for such: any size but the first."""
    if isinstance(node, ast.Call):
        asked = isinstance(node.func, ast.Attribute) and node.func.attr == "size" and len(node.args) == 1
        return asked and _picks_later(node.args[0])
    if isinstance(node, ast.Subscript):
        return _is_whole(node.value) and _picks_later(node.slice)
    if isinstance(node, ast.Tuple) and steps > 0:  # `size = (h, w)`
        return bool(node.elts) and all(_is_side(look, part, steps - 1) for part in node.elts)
    body = look.values.body(look.frame.path)
    if not isinstance(node, ast.Name) or body is None or steps <= 0:
        return False
    reaching = body.reaching(look.frame.function, node.id, look.frame.at) or []
    if len(reaching) != 1 or reaching[0].value is None or reaching[0].how not in ("assign", "item"):
        return False
    value, index = reaching[0].value, reaching[0].index
    if index and _is_whole(value):  # `b, c, h, w = f.shape`
        return len(index) == 1 and index[0] > 0
    if index and isinstance(value, ast.Tuple | ast.List) and index[0] < len(value.elts):
        value = value.elts[index[0]]
    return _is_side(look.inside(at=body.at(value)), value, steps - 1)


def _is_whole(node: ast.expr) -> bool:
    """`f.shape`, `f.size()`."""
    if isinstance(node, ast.Call):
        return last_part(chain(node.func)) == "size" and not node.args
    return isinstance(node, ast.Attribute) and node.attr == "shape"


def _picks_later(node: ast.expr) -> bool:
    """Whether an index, or where a slice begins, is a number other than the first."""
    if isinstance(node, ast.Slice):
        return node.lower is not None and _picks_later(node.lower)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value != 0
