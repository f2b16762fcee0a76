"""Places that a mask finds in a row, of which nothing but the first or the last is taken, if there is one.

    ended = torch.where(tokens == eos)[0]                  ended = tokens == eos
    if len(ended) >= 1:                                    end = torch.where(ended.any(), ended.int().argmax(), n)
        end = ended[0]
    else:
        end = n

To ask how many there are makes the host wait, before it waits for the place itself.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.syntax.chains import chain

_SIZES = frozenset({"numel", "nelement", "size", "shape"})
_ENDS = (0, -1)


def takes_first_place(file: SourceFile, function: int, found: ast.expr) -> bool:
    """Whether a name for what a search has found is only asked for how many there are, and for the first or last."""
    parents, body = file.enclosing(function).parents, file.project.body(file.path)
    row = _row(found, parents)
    bound = parents.get(row)
    if body is None or not isinstance(bound, ast.Assign) or len(bound.targets) != 1:
        return False
    target = bound.targets[0]
    if not isinstance(target, ast.Name):
        return False
    reads = body.reads(function, target.id)
    uses = [u for u in reads if any(d.value is row for d in body.reaching(function, target.id, body.at(u)) or ())]
    taken = [_is_end(use, parents) for use in uses]
    return any(taken) and not all(taken) and all(t or _is_size(u, parents) for t, u in zip(taken, uses, strict=True))


def _row(found: ast.expr, parents: Mapping[ast.AST, ast.AST]) -> ast.expr:
    """`torch.where(m)[0]` of `torch.where(m)`."""
    around = parents.get(found)
    first = isinstance(around, ast.Subscript) and around.value is found and _number(around.slice) == 0
    return around if first and isinstance(around, ast.Subscript) else found


def _is_end(use: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> bool:
    """`ended[0]`, `ended[-1]`, and `ended[0, 0]` of what `nonzero` gives."""
    taken = parents.get(use)
    if not isinstance(taken, ast.Subscript) or taken.value is not use or not isinstance(taken.ctx, ast.Load):
        return False
    first, *others = taken.slice.elts if isinstance(taken.slice, ast.Tuple) else [taken.slice]
    return _number(first) in _ENDS and all(_number(other) == 0 for other in others)


def _is_size(use: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> bool:
    """`len(ended)`, `ended.numel()`, `ended.shape[0]`."""
    asks = parents.get(use)
    if isinstance(asks, ast.Attribute):
        return asks.attr in _SIZES
    return isinstance(asks, ast.Call) and asks.func is not use and chain(asks.func) == "len"


def _number(node: ast.expr) -> int | None:
    negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    bare = node.operand if negative and isinstance(node, ast.UnaryOp) else node
    if not isinstance(bare, ast.Constant) or not isinstance(bare.value, int):
        return None
    return -bare.value if negative else bare.value
