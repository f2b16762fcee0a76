"""Containers that start empty: what they hold is what is put into them later."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.literals import is_none
from torchperf_lint.facts.values.entries import put_into
from torchperf_lint.facts.values.value import UNKNOWN, Frame, Value, join, sequence
from torchperf_lint.model import Confidence

if TYPE_CHECKING:
    from torchperf_lint.facts.bindings.bodies import Body
    from torchperf_lint.facts.values.values import Values

_EMPTY = frozenset({"dict", "list", "OrderedDict", "defaultdict", "deque"})
_NO_ELEMENTS = frozenset({"torch.empty", "torch.zeros", "torch.tensor", "torch.Tensor"})
_STORES = 8
"""How many of the values put into a container are looked at."""


def is_empty_container(value: Value, node: ast.expr) -> bool:
    """Whether an expression of this value makes a container with nothing in it."""
    if isinstance(node, ast.List | ast.Dict):
        return not (node.elts if isinstance(node, ast.List) else node.values)
    callee = chain(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
    item = value.item if value.kind == "sequence" else None
    if item is not None and item.kind not in ("unknown", "nothing") and item.confidence is not Confidence.POSSIBLE:
        return False  # `list(parts)` holds those
    return callee in _EMPTY and value.kind in ("sequence", "unknown", "plain", "object")


def is_list_of_placeholders(node: ast.expr) -> bool:
    """`[None] * n`, `[torch.empty(0)] * n`: nothing is in such a list but what stands for what is put there later."""
    listed = node.left if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) else None
    if not isinstance(listed, ast.List) or len(listed.elts) != 1:
        return False
    one = listed.elts[0]
    return is_none(one) or (isinstance(one, ast.Call) and chain(one.func) in _NO_ELEMENTS and _is_of_none(one))


def _is_of_none(factory: ast.Call) -> bool:
    return [ast.unparse(argument) for argument in factory.args] in (["0"], ["[]"])


def filled_attribute(values: Values, cls: Thing, name: str, frame: Frame) -> Value:
    """What the methods of a class put into its attribute: `self.losses[k] = loss`, `self.losses.append(loss)`."""
    body = values.body(cls.path)
    found: list[Value] = []
    for function in values.index.record(cls).methods.values() if body is not None else ():
        for node in body.stored_items(function, f"self.{name}")[:_STORES]:  # type: ignore[union-attr]
            found.append(values.of(node, frame.hop(cls.path, function, body.at(node))))  # type: ignore[union-attr]
    return sequence(join(found[:_STORES]) if found else UNKNOWN)


def filled_name(values: Values, name: str, frame: Frame, body: Body) -> Value:
    """What a name of a function holds: a container that starts empty holds what the function puts into it."""
    stored = body.stored_items(frame.function, name)[:_STORES]
    # What is put in may be made of the container itself: that is a way back, as a loop is.
    items = [values.of(node, frame.hop(frame.path, frame.function, body.at(node))) for node in stored]
    return sequence(join(items) if items else UNKNOWN)._replace(entries=put_into(values, name, body, frame))
