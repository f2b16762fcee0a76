"""Operations beside a copy to the host: torch takes operands of one device, so all of them are on the host."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from torchperf_lint.facts.value import ANYWHERE, HOST, Value

_MOVES = ("moved by `.to('cpu')`", "moved by `.cpu()`")
"""In the reason why a tensor is on the host."""


def on_host_beside(value: Value, operands: Iterable[ast.expr], told: Iterable[Value] = ()) -> Value:
    """What an operation gives, on the host where one of its operands is copied there: `seen & ~valid.cpu()`.

    `told`: what is known of the operands, where one may have been copied in a line above, `reward = reward.cpu()`.
    Where another operand is known to be on the device, the copy is a single number, which torch takes from the host.
    """
    if value.kind != "tensor" or value.device != ANYWHERE:
        return value
    copied = any(map(_is_copied, operands)) or any(map(_was_copied, told))
    return value.moved(HOST) if copied else value


def _was_copied(value: Value) -> bool:
    """Whether the code says that a tensor was moved to the host, and not that it was made there, as numbers are."""
    return value.kind == "tensor" and value.device == HOST and any(move in value.because for move in _MOVES)


def _is_copied(node: ast.expr) -> bool:
    while isinstance(node, ast.UnaryOp):
        node = node.operand
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    if node.func.attr == "to":
        return len(node.args) == 1 and isinstance(node.args[0], ast.Constant) and node.args[0].value == "cpu"
    return node.func.attr == "cpu" and not node.args
