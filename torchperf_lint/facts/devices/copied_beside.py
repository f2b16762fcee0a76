"""Operations beside a copy to the host: torch takes operands of one device, so all of them are on the host."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from torchperf_lint.facts.values.value import ANYWHERE, HOST, Value


def on_host_beside(value: Value, operands: Iterable[ast.expr]) -> Value:
    """What an operation gives, on the host where one of its operands is copied there: `seen & ~valid.cpu()`.

    `operands`: with what names among them are bound to, where that is sure.
    Where another operand is known to be on the device, the copy is a single number, which torch takes from the host.
    """
    if value.kind != "tensor" or value.device != ANYWHERE or not any(map(_is_copied, operands)):
        return value
    return value.moved(HOST)


def _is_copied(node: ast.expr) -> bool:
    while isinstance(node, ast.UnaryOp):
        node = node.operand
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    if node.func.attr == "to":
        return len(node.args) == 1 and isinstance(node.args[0], ast.Constant) and node.args[0].value == "cpu"
    return node.func.attr == "cpu" and not node.args
