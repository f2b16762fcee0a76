"""Rows of tensors that a loop takes one by one though one form does for all: filled, cut evenly, picked by a mask."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import first_part

if TYPE_CHECKING:
    from torchperf_lint.facts.element_loops.turns import Turn

_JOINS = frozenset({"cat", "concat", "concatenate", "hstack"})


def fills_up_to(turn: Turn, node: ast.Subscript) -> bool:
    """`mask[i, n[i]:] = 0`: the element of one tensor says how much of a row of another is set."""
    if not isinstance(node.ctx, ast.Store):
        return False
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    bounds = [end for part in parts if isinstance(part, ast.Slice) for end in (part.lower, part.upper) if end]
    taken = [part for bound in bounds for part in ast.walk(bound) if isinstance(part, ast.Subscript)]
    by_turn = any(turn.is_index(part.slice) and turn.is_tensor(part.value) for part in taken)
    return by_turn and turn.is_index(node.slice) and turn.is_tensor(node.value)


def fills_row(turn: Turn, node: ast.AST) -> ast.expr | None:
    """The tensor of which each turn fills a part of a row with one number: `mask[i, a:b] = True`, `labels[i][:n] = -1`.

    Wherever the parts begin and end, a comparison with `arange` finds all of them at once. Also as a method,
    `mask[i].narrow(0, n, rest).fill_(True)`.
    """
    if isinstance(node, ast.Expr):
        return _fills_by_method(turn, node.value)
    target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
    value = node.value if isinstance(node, ast.Assign) else None
    value = value.operand if isinstance(value, ast.UnaryOp) else value
    if not isinstance(target, ast.Subscript) or not isinstance(value, ast.Constant | ast.Name | ast.Attribute):
        return None
    if isinstance(target.slice, ast.Tuple) and len(target.slice.elts) == 2:
        whole, row, part = target.value, *target.slice.elts
    elif isinstance(target.value, ast.Subscript):
        whole, row, part = target.value.value, target.value.slice, target.slice
    else:
        return None
    counter = first_part(turn.target)
    by_turn = isinstance(row, ast.Name) and isinstance(counter, ast.Name) and row.id == counter.id
    cut = isinstance(part, ast.Slice) and part.step is None and (part.lower is not None or part.upper is not None)
    if not by_turn or not cut or not isinstance(whole, ast.Name | ast.Attribute):
        return None
    if not isinstance(value, ast.Constant) and turn.file.value(value, turn.place).kind != "plain":
        return None
    return whole


def filled_elements(loop: ast.For) -> ast.expr | None:
    """The tensor into which loops over ranges, one in the other, put one number, and do nothing else."""
    counters: list[str] = []
    inner: ast.stmt = loop
    while isinstance(inner, ast.For):
        counts = isinstance(inner.iter, ast.Call) and chain(inner.iter.func) == "range" and not inner.orelse
        if not counts or not isinstance(inner.target, ast.Name) or len(inner.body) != 1:
            return None
        counters.append(inner.target.id)
        inner = inner.body[0]
    if not isinstance(inner, ast.Assign) or len(inner.targets) != 1 or not isinstance(inner.targets[0], ast.Subscript):
        return None
    value = inner.value.operand if isinstance(inner.value, ast.UnaryOp) else inner.value
    target = inner.targets[0]
    parts = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    named = [part.id for part in parts if isinstance(part, ast.Name)]
    plain = all(isinstance(part, ast.Name | ast.Constant) or is_whole(part) for part in parts)
    if not isinstance(value, ast.Constant) or not plain or sorted(named) != sorted(counters):
        return None
    return target.value


def is_whole(part: ast.expr) -> bool:
    """Whether a part of a subscript takes all of its axis: `:`."""
    return isinstance(part, ast.Slice) and part.lower is None and part.upper is None and part.step is None


def _fills_by_method(turn: Turn, node: ast.expr) -> ast.expr | None:
    """`mask[i].narrow(0, n, rest).fill_(1)`, `mask[i, n:].zero_()`: the tensor of which that fills part of a row."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    number = isinstance(node.args[0], ast.Constant) if node.args else node.func.attr == "zero_"
    part = node.func.value
    if node.func.attr not in ("fill_", "zero_") or not number:
        return None
    if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr == "narrow":
        part = part.func.value
    row = part if isinstance(part, ast.Subscript) else None
    counter = first_part(turn.target)
    index = first_part(row.slice) if row is not None else None
    by_turn = isinstance(index, ast.Name) and isinstance(counter, ast.Name) and index.id == counter.id
    return row.value if row is not None and by_turn and isinstance(row.value, ast.Name | ast.Attribute) else None


def is_cut_evenly(turn: Turn, node: ast.expr) -> bool:
    """Whether a list is of equal parts of a tensor: `x.split(1, 1)`, `x.unbind()`, `x.chunk(n)`."""
    body = turn.file.project.body(turn.file.path)
    if not isinstance(node, ast.Name) or body is None:
        return False
    bound = body.reaching(turn.place.function, node.id, body.at(node)) or []
    cuts = [d.value for d in bound if d.how == "assign"]
    return bool(cuts) and len(cuts) == len(bound) and all(_cuts_evenly(turn, value) for value in cuts)


def _cuts_evenly(turn: Turn, node: ast.expr | None) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    of_torch = chain(node.func.value) == "torch"
    given = node.args[1:] if of_torch else node.args
    if node.func.attr == "split":
        return bool(given) and isinstance(given[0], ast.Constant)
    return node.func.attr in ("unbind", "chunk") and (of_torch or turn.is_tensor(node.func.value))


def picked_whole(turn: Turn, node: ast.Subscript) -> bool:
    """`x[i][mask[i]]`, where all that is picked is put into one tensor behind the loop: that is `x[mask]`."""
    row, mask = node.value, node.slice
    if not (_is_row(turn, row) and isinstance(mask, ast.Subscript) and _is_row(turn, mask)):
        return False
    joined = _joined_behind(turn)
    return bool(joined) and all(name in joined for name in _appended(turn))


def _is_row(turn: Turn, node: ast.expr) -> bool:
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name) and turn.is_index(node.slice)


def _appended(turn: Turn) -> set[str]:
    """The lists that the turns make longer."""
    return {chain(c.func.value) for c in turn.calls if isinstance(c.func, ast.Attribute) and c.func.attr == "append"}


def _joined_behind(turn: Turn) -> set[str]:
    """The names that a function puts together into one tensor: `torch.cat(picked)`."""
    around = turn.file.enclosing(turn.place.function).parents
    calls = (node for node in around if isinstance(node, ast.Call) and last_part(chain(node.func)) in _JOINS)
    return {chain(call.args[0]) for call in calls if call.args}
