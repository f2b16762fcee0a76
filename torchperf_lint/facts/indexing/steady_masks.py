"""Masks that do not depend on the data: they pick the same elements at every step, so nothing has to be counted.

    mask = torch.eye(n, dtype=torch.bool, device=x.device)          self.mask = correlated(batch)   # in the constructor
    sim[~mask].view(n, -1)                                          negatives = sim[self.mask].view(n, -1)

A diagonal has a name of its own; all others are indices that can be found once.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.put_into import written_into
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.constants.held import builds, changed_in, set_from_outside
from torchperf_lint.facts.indexing.selections import Selection
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_none
from torchperf_lint.facts.values.attributes import setters
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.facts.values.values import Values

_HOPS = 6
_MADE = frozenset("eye ones zeros arange ones_like zeros_like".split())
"""Factories whose numbers follow from sizes; what they are given besides decides over those."""
_NEW = frozenset({"new_ones", "new_zeros", "new_full"})
"""The same as methods, which take a type and a device from their tensor."""
_KEEPING = frozenset(
    "bool to type cuda view reshape repeat expand unsqueeze squeeze t transpose permute tril triu tril_ triu_ flatten "
    "clone byte float long int fill_diagonal_ flip roll type_as expand_as contiguous logical_not bitwise_not "
    "repeat_interleave diag block_diag kron cat stack logical_and logical_or eq ne lt le gt ge rearrange".split()
)
"""Methods and functions whose numbers follow from what they are given, and from sizes."""
_TYPES = frozenset("to type type_as cuda expand_as view_as".split())
"""Methods that take of their arguments a type, a device or a shape alone."""


def is_steady(selection: Selection) -> bool:
    """Whether a mask is made of sizes alone, or was set while its module was built."""
    spot = selection.spot
    return _Look(spot.file.project.values).steady(selection.mask, spot.frame, _HOPS)


class _Look:
    """One question."""

    def __init__(self, values: Values) -> None:
        self.values = values

    def steady(self, node: ast.expr, frame: Frame, hops: int) -> bool:
        """Whether an expression is a tensor whose numbers no data decide."""
        if hops <= 0:
            return False
        if isinstance(node, ast.Compare):
            return self._of_parts([node.left, *node.comparators], frame, hops)
        if isinstance(node, ast.BinOp):
            return self._of_parts([node.left, node.right], frame, hops)
        if isinstance(node, ast.UnaryOp):
            return self.steady(node.operand, frame, hops)
        if isinstance(node, ast.Subscript):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            return all(isinstance(p, ast.Slice | ast.Constant) for p in parts) and self.steady(node.value, frame, hops)
        if isinstance(node, ast.Call):
            return self._call(node, frame, hops)
        if isinstance(node, ast.Name):
            return self._name(node, frame, hops)
        return isinstance(node, ast.Attribute) and self._attribute(node, frame)

    def _of_parts(self, parts: list[ast.expr], frame: Frame, hops: int) -> bool:
        """Whether some are such tensors, and the others numbers."""
        tensors = [part for part in parts if not self._is_number(part, frame)]
        return bool(tensors) and all(self.steady(part, frame, hops) for part in tensors)

    def _is_number(self, node: ast.expr, frame: Frame) -> bool:
        return isinstance(node, ast.Constant) or self.values.of(node, frame).kind == "plain"

    def _call(self, node: ast.Call, frame: Frame, hops: int) -> bool:
        name = last_part(chain(node.func))
        if name in _NEW:
            return True
        thing = self.values.thing(node.func, frame)
        if thing is not None and thing.kind == "external" and "()" in thing.dotted:
            thing = None  # a method of what some call gives: `Variable(x).data.eq(n)` asks the data
        if thing is not None and thing.kind != "external":
            return False
        if thing is not None and thing.dotted.startswith("torch."):
            if name in _MADE:
                return True
            operands = node.args
            if name in ("cat", "stack") and operands and isinstance(operands[0], ast.List | ast.Tuple):
                operands = operands[0].elts
        elif thing is not None and not thing.dotted.startswith("einops."):
            return False
        else:
            receiver = [node.func.value] if isinstance(node.func, ast.Attribute) and thing is None else []
            operands = [*receiver, *node.args]
            if name in _TYPES or thing is not None:
                operands = operands[:1]
        operands = [part for part in operands if not isinstance(part, ast.Starred)]
        tensors = operands[:1] + [part for part in operands[1:] if self.values.of(part, frame).kind == "tensor"]
        return name in _KEEPING and bool(tensors) and all(self.steady(part, frame, hops) for part in tensors)

    def _name(self, node: ast.Name, frame: Frame, hops: int) -> bool:
        body = self.values.body(frame.path)
        at = max(frame.at, body.at(node)) if body is not None and node.lineno >= frame.at[0] else frame.at
        reaching = body.reaching(frame.function, node.id, at) if body is not None else None
        if body is None or not reaching or any(True for _ in written_into(body, frame.function, node.id)):
            return False
        return all(
            d.how == "assign" and d.value is not None and self.steady(d.value, frame._replace(at=d.at), hops - 1)
            for d in reaching
        )

    def _attribute(self, node: ast.Attribute, frame: Frame) -> bool:
        """`self.mask` of a module that only its constructor, or what that calls, has set."""
        own = self.values.index.class_of(frame.path, frame.function)
        if own is None or chain(node.value) != "self" or not self.values.types.is_module_class(own):
            return False
        made = [value for _, value, _ in setters(self.values, own, node.attr) if not is_none(value)]
        if any(isinstance(value, ast.Call) and last_part(chain(value.func)) == "Parameter" for value in made):
            return False  # every step changes it
        changed: list[FunctionKey] = [
            key for cls in self.values.index.ancestry(own) for key in changed_in(self.values, cls, node.attr)
        ]
        held = bool(made) and bool(changed) and all(builds(self.values, key) for key in changed)
        return held and not set_from_outside(self.values, own, node)
