"""Parameters that must be boolean tensors, from what their function asks of them.

`torch.where(m, a, b)` and `x.masked_fill(m, 0)` take nothing but truths, and
`~m` of integers is nothing that anybody selects by.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import nodes_of
from torchperf_lint.patterns import pattern

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_BY_TRUTHS = frozenset({"masked_fill", "masked_fill_", "masked_select", "masked_scatter", "masked_scatter_"})
_SHOWN_BY = pattern(r"~|where|masked_")
"""What stands in each function that shows one."""
_CHOOSES = 3
"""Operands with which `torch.where` chooses; with one it searches, whatever the type."""
_SAME_TYPE = frozenset({"unsqueeze", "view", "reshape", "expand", "expand_as", "squeeze"})


def asked_as_masks(values: Values, key: FunctionKey) -> frozenset[str]:
    """The parameters of a function that it uses, before it binds them anew, as only boolean tensors can be."""
    body = values.body(key.path)
    node = body.functions.get(key.index) if body is not None else None
    record = values.index.function(key)
    if body is None or node is None or not _SHOWN_BY.search("".join(body.lines[record.line - 1 : record.end_line])):
        return frozenset()
    own = {parameter.name for parameter in record.parameters}
    return frozenset(
        use.id for use in _uses(node) if use.id in own and not body.reaching(key.index, use.id, body.at(use))
    )


def _uses(function: ast.AST) -> Iterator[ast.Name]:
    """The names that are inverted, or that stand where a mask has to."""
    for node in nodes_of(function):
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
            use = _bottom(node.operand)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            asked = _asked(node)
            use = _bottom(asked) if asked is not None else None
        else:
            continue
        if use is not None:
            yield use


def _asked(call: ast.Call) -> ast.expr | None:
    """The operand of a call that has to be a mask."""
    name, of_torch = last_part(chain(call.func)), chain(call.func).startswith("torch.")
    if name == "where":
        return call.args[0] if of_torch and len(call.args) == _CHOOSES else None
    position = 1 if of_torch else 0
    return call.args[position] if name in _BY_TRUTHS and len(call.args) > position else None


def _bottom(node: ast.expr) -> ast.Name | None:
    """The name of which a view is taken: `m` of `m[..., None]`, `m.unsqueeze(-1)`, `~m`."""
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
            node = node.operand
        elif isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SAME_TYPE:
            node = node.func.value
        else:
            return None
    return node
