"""Device tensors that Python looks up in a list, `tokens[i] in end_ids`; and looks into, `i in labels.unique()`.

A list is asked entry by entry, and each comparison with a tensor is one that the host waits for. A dict or a set finds
things by their hash, and never waits; what holds which is told by a literal, as the function binds it or in place, or
by a name of ids.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import Spot, hot_nodes
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_text
from torchperf_lint.patterns import pattern

_IDS = pattern(
    r"(?:^|_)(?:eos|stop|end|pad|special|banned|bad)s?(?:_?(?:tokens?|words?))?(?:_?(?:ids?|list|indices))?$|"
    r"(?:^|_)(?:ids|indices|list)$",
    re.IGNORECASE,
)
"""Names of lists of numbers that mean something."""


def memberships(file: SourceFile) -> Iterator[tuple[Spot, ast.expr]]:
    """The hot `in` and `not in` that compare elements of a device tensor with numbers, with that tensor."""
    for spot in hot_nodes(file, ast.Compare, where=_is_membership):
        node = spot.expression
        assert isinstance(node, ast.Compare)
        sought, holder = node.left, node.comparators[0]
        listed = _is_list(holder) or (isinstance(holder, ast.Name) and _is_written(file, spot, holder))
        if listed and _is_element(sought) and _is_tensor(file, spot, sought):
            yield spot, sought
        elif isinstance(holder, ast.Name) and _is_counted(file, spot, sought) and _is_tensor(file, spot, holder):
            yield spot, holder


def _is_membership(node: ast.Compare) -> bool:
    return len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn)


def _is_tensor(file: SourceFile, spot: Spot, node: ast.expr) -> bool:
    value = file.value(node, spot)
    return value.kind == "tensor" and value.on_device


def _is_counted(file: SourceFile, spot: Spot, node: ast.expr) -> bool:
    """`i` of `for i in range(n)`: in a tensor, not in a dict of tensors."""
    loops = file.enclosing(spot.function).loops(spot.expression)
    return isinstance(node, ast.Name) and any(
        chain(loop.target) == node.id and isinstance(loop.iter, ast.Call) and chain(loop.iter.func) == "range"
        for loop in loops
    )


def _is_list(node: ast.expr) -> bool:
    return isinstance(node, ast.List | ast.Tuple) or _IDS.search(last_part(chain(node))) is not None


def _is_written(file: SourceFile, spot: Spot, holder: ast.Name) -> bool:
    """Whether a name stands for a list that the function writes out, `ignored = [pad, end]`."""
    body = file.project.body(file.path)
    made = body.assigned_once(spot.function, holder.id, spot.frame.at) if body is not None else None
    return isinstance(made, ast.List | ast.Tuple)


def _is_element(node: ast.expr) -> bool:
    """`tokens[i]`, `tokens[i, 0]`, `token`: no attribute, and nothing that a key of text names."""
    return isinstance(node, ast.Name) or (isinstance(node, ast.Subscript) and not is_text(node.slice))
