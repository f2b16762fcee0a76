"""Elements that turns take at a fixed distance, of what no turn writes: of all turns at once those are a slice.

    for t in range(1, x.size(1)):
        y[:, t] = x[:, t - 1] * 0.5 + x[:, t]        # y[:, 1:] = x[:, :-1] * 0.5 + x[:, 1:]
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchperf_lint.facts.constants.changed_in_place import changed, given_for_effect
from torchperf_lint.facts.syntax.chains import chain, last_part

if TYPE_CHECKING:
    from torchperf_lint.facts.element_loops.turns import Turn

_VIEWS = frozenset(
    "view view_as reshape reshape_as unsqueeze squeeze expand expand_as flatten unflatten detach contiguous to cuda "
    "cpu float half double long int bool type type_as permute transpose t movedim swapaxes narrow select chunk split "
    "unbind diagonal unfold as_strided requires_grad_ numpy from_numpy as_tensor asarray broadcast_to".split()
)
"""Methods, and functions of torch's, whose result may be the tensor itself."""
_SAME = frozenset(("data", "T", "mT", "H", "mH", "real"))
"""Attributes that are the tensor itself."""


def is_shift(turn: Turn, node: ast.Subscript) -> bool:
    """Whether an element is a step of fixed length away, of a tensor into which no turn writes.

    Numbers that the host reads, `offsets[i + 1].item()`, say where rows end that differ in length.
    """
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    offsets = [part for part in parts if turn.mentions(part) and not isinstance(part, ast.Name)]
    parent = turn.file.enclosing(turn.place.function).parents.get(node)
    read = isinstance(parent, ast.Attribute) and parent.attr in ("item", "tolist")
    read = read or (isinstance(parent, ast.Call) and chain(parent.func) in ("int", "float"))
    if read or not all(_is_fixed(turn, part) for part in offsets) or not turn.is_tensor(node.value):
        return False
    own = _origins(turn, node.value)
    return bool(own) and not own & _bound(turn) and not any(own & _origins(turn, part) for part in _written(turn))


def _is_fixed(turn: Turn, part: ast.expr) -> bool:
    """`t - 1`, `t + width`, `-width + t`, where no turn binds `width`."""
    if not isinstance(part, ast.BinOp) or not isinstance(part.op, ast.Add | ast.Sub):
        return False
    counter, other = part.left, part.right
    if isinstance(part.op, ast.Add) and not _is_counter(turn, counter):
        counter, other = other, counter
    return _is_counter(turn, counter) and _is_steady(turn, other)


def _is_counter(turn: Turn, node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in turn.variables


def _is_steady(turn: Turn, node: ast.expr) -> bool:
    """Whether something is a number, a name, or an attribute of one, that no turn binds; and what is computed of such:
    `-width`, `x.shape[-1] - width`."""
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.UnaryOp):
        return _is_steady(turn, node.operand)
    if isinstance(node, ast.BinOp):
        return _is_steady(turn, node.left) and _is_steady(turn, node.right)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
        return _is_steady(turn, node.value) and _is_steady(turn, node.slice)
    if not isinstance(node, ast.Name | ast.Attribute) or turn.mentions(node):
        return False
    bound = _bound(turn)
    return chain(node) not in bound and chain(node).partition(".")[0] not in bound


def _bound(turn: Turn) -> set[str]:
    """The names and attributes that turns bind: `row = x[t + 1]` binds `row`, and writes nothing into `x`."""
    return {chain(n) for n in turn.nodes if isinstance(n, ast.Name | ast.Attribute) and isinstance(n.ctx, ast.Store)}


def _written(turn: Turn) -> list[ast.expr]:
    """What turns write into, or give to a call that may write into it."""
    return [expression for node in turn.nodes for way in (changed, given_for_effect) for expression in way(node)]


def _origins(turn: Turn, node: ast.expr) -> set[str]:
    """The names and attributes that may be one tensor with an expression, whatever the function binds them to."""
    body = turn.file.project.body(turn.file.path)
    bindings = body.definitions(turn.place.function) if body is not None else {}
    found: set[str] = set()
    left = [node]
    while left:
        for origin in _roots(left.pop()):
            written = chain(origin)
            if written not in found and isinstance(origin, ast.Name):
                left += [bound.value for bound in bindings.get(origin.id, ()) if bound.value is not None]
            found.add(written)
    return found


def _roots(node: ast.expr) -> Iterator[ast.expr]:
    """`x` of `x.view(-1)[0].data`, of `torch.squeeze(x)` and of `x if flag else x[0]`; nothing of what is made anew."""
    left = [node]
    while left:
        part = left.pop()
        inner = _same_as(part)
        if not inner and isinstance(part, ast.Name | ast.Attribute):
            yield part
        left += inner


def _same_as(node: ast.expr) -> list[ast.expr]:
    """The parts of an expression that may be the tensor that it gives, or of which that is a view."""
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.BoolOp):
        return node.values
    if isinstance(node, ast.Tuple | ast.List):
        return node.elts
    if isinstance(node, ast.Subscript | ast.Starred | ast.NamedExpr):
        return [node.value]
    if isinstance(node, ast.Attribute):
        return [node.value] if node.attr in _SAME else []
    name = last_part(chain(node.func)) if isinstance(node, ast.Call) else ""
    if not isinstance(node, ast.Call) or (name not in _VIEWS and not name.endswith("_")):
        return []
    return [*node.args, node.func.value] if isinstance(node.func, ast.Attribute) else node.args
