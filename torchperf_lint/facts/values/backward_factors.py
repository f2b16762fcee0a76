"""Factors of what `backward` runs on, which may be numbers: `factor` in `(loss + factor * penalty).backward()`.

A term of a sum with gradients is a tensor, and so is one side of a product; the other side may be whatever was set.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.effects import backward_target, operands
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.syntax import nodes_of
from torchperf_lint.patterns import pattern

_LOSS = pattern(
    r"loss|criteri|cost|(?:^|[._])nll|(?:^|[._])kld?(?:_|$)|penalty|objective|(?:^|[._])(?:mse|bce|ce)(?:_|$)|entropy",
    re.IGNORECASE,
)
_SET = pattern(
    r"(?:^|[._])(?:weights?|alphas?|betas?|gammas?|lambdas?|lambd|lam|lmbda|factors?|coeffs?|coefs?|coefficients?|"
    r"scales?|ratios?|temperatures?|eps(?:ilon)?|decay|rate|wd?)\d*$",
    re.IGNORECASE,
)
"""Names of what losses are weighed with: `loss_weight` is no loss."""
_SET_FOR = pattern(r"(?:^|[._])(?:w|weight|lambda|lam|alpha|beta|gamma|coeff?)_\w+$", re.IGNORECASE)
"""`lambda_gp`; but `w_loss` is a loss."""


def graded_at(body: Body, function: int, name: str) -> int | None:
    """The line where a function calls `backward` on a name, or on what it is a term of, and no mere factor."""
    line = body.backward_operands(function).get(name)
    return None if line is None or _only_scales(body, function, name, line) else line


def picked_from_at(body: Body, function: int, name: str) -> int | None:
    """The line where a function picks, by two indices or more, what it calls `backward` on from a name.

        margin = logits[rows, labels] - logits[rows, others]
        margin.sum().backward()
    """
    graded = body.backward_operands(function)
    return next((line for line in map(partial(_picks, body, function, name, hops=_HOPS), graded) if line), None)


def _picks(body: Body, function: int, name: str, made: str, hops: int) -> int | None:
    """The line where a name that a gradient is asked for is bound to what `name` gives, in sums alone."""
    bound = body.definitions(function).get(made, ())
    value = bound[0].value if len(bound) == 1 and bound[0].how == "assign" else None
    stack = [value] if value is not None else []
    while stack:
        node = stack.pop()
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            stack += [node.left, node.right]
        elif isinstance(node, ast.UnaryOp):
            stack.append(node.operand)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SUMS:
            stack.append(node.func.value)
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
            if chain(node.value) == name:
                return node.lineno
        elif isinstance(node, ast.Name) and hops and node.id != made:
            line = _picks(body, function, name, node.id, hops - 1)
            if line is not None:
                return line
    return None


_SUMS = frozenset({"sum", "mean"})
_HOPS = 2


def _only_scales(body: Body, function: int, name: str, line: int) -> bool:
    """Whether a name is nothing but a factor or divisor of what `backward` runs on at a line of a function."""
    for statement in body.statements(function):
        if not isinstance(statement, ast.Expr) or not statement.lineno <= line <= (statement.end_lineno or 0):
            continue
        for call in (node for node in nodes_of(statement) if isinstance(node, ast.Call)):
            target = backward_target(call)
            if name in operands(target):
                return name not in terms(target)
    return False


def terms(node: ast.expr | None) -> Iterator[str]:
    """The chains of an arithmetic expression without those that may be numbers of the host."""
    stack = [] if node is None else [node]
    while stack:
        current = stack.pop()
        if not isinstance(current, ast.BinOp):
            # A call goes on with what it is of, or what it scales, as `operands` goes.
            inner = _inside(current)
            stack += inner
            if not inner:
                yield from operands(current)
        elif isinstance(current.op, ast.Div | ast.Pow | ast.FloorDiv):
            stack.append(current.left)
        elif isinstance(current.op, ast.Mult):
            stack += _tensors([current.left, current.right])
        else:
            stack += [current.left, current.right]


def _inside(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.args if node.args and node.func.attr == "scale" else [node.func.value]
    return []


def _tensors(sides: list[ast.expr]) -> list[ast.expr]:
    """Which sides of a product are tensors for certain: the loss, or what is not called like a weight."""
    losses = [side for side in sides if any(map(_is_loss, operands(side)))]
    return losses or [side for side in sides if not (_SET.search(chain(side)) or _SET_FOR.search(chain(side)))]


def _is_loss(name: str) -> bool:
    """By the attribute that a chain ends with: a setting is no loss by `config.LOSS.WEIGHT`."""
    last = name.rpartition(".")[2]
    return bool(_LOSS.search(last)) and not _SET.search(last)
