"""Operations beside what is on the host for sure: torch takes operands of one device, so all of them are there.

Sure is a copy to the host, `valid.cpu()`, and what a factory fills that is told no device, `torch.ones(n)`. A number of
no dimensions says nothing: torch takes it from the host.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import ANYWHERE, HOST, Frame, Value

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values


def on_host_beside(value: Value, operands: Iterable[ast.expr]) -> Value:
    """What an operation gives, on the host where one of its operands is copied there: `seen & ~valid.cpu()`.

    Where another operand is known to be on the device, the copy is a single number, which torch takes from the host.
    """
    if value.kind != "tensor" or value.device != ANYWHERE or not any(map(_is_copied, operands)):
        return value
    return value.moved(HOST)


def on_host_among(values: Values, value: Value, operands: Iterable[ast.expr], frame: Frame) -> Value:
    """What arithmetic or a comparison gives, on the host where one of its operands is copied or filled there.

    `operands`: with what names among them are bound to, where that is sure.
    """
    if value.kind != "tensor" or value.device != ANYWHERE:
        return value
    there = any(_is_copied(operand) or _is_filled_there(values, operand, frame) for operand in operands)
    return value.moved(HOST) if there else value


def _is_copied(node: ast.expr) -> bool:
    node = _signless(node)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    if node.func.attr == "to":
        return len(node.args) == 1 and isinstance(node.args[0], ast.Constant) and node.args[0].value == "cpu"
    return node.func.attr == "cpu" and not node.args


def _is_filled_there(values: Values, node: ast.expr, frame: Frame) -> bool:
    """`torch.zeros(n, 3)` of a file that sets no default device; `torch.zeros(())` is a number."""
    node = _signless(node)
    if not isinstance(node, ast.Call) or last_part(chain(node.func)) not in api.FILL_FACTORIES or not node.args:
        return False
    size = node.args[0]
    if isinstance(size, ast.Tuple | ast.List) and not size.elts:
        return False
    made = values.of(node, frame)
    return made.kind == "tensor" and made.device == HOST


def _signless(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.UnaryOp):
        node = node.operand
    return node
