"""Cheap arithmetic of tensors, element by element, and the tensors whose shape its result has.

`x * (limit / norm)` has the shape of `x` and of what else is no single element; a sum over it has not.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import NamedTuple

from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.syntax.arguments import arguments
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_none, is_text
from torchperf_lint.facts.syntax.syntax import nodes_of
from torchperf_lint.facts.values.value import HOST

Shapes = frozenset[str]
"""The tensors, as source, whose shape a result has; empty for numbers and for tensors of one element."""
ONE: Shapes = frozenset()

_METHODS = frozenset(
    "abs neg exp expm1 log log1p log2 log10 sqrt rsqrt square reciprocal sigmoid tanh relu sin cos sign floor ceil "
    "round clamp clip clamp_min clamp_max pow add sub mul div true_divide remainder minimum maximum where lerp "
    "nan_to_num masked_fill logical_not logical_and logical_or logical_xor eq ne gt ge lt le isnan isinf isfinite "
    "clone detach contiguous zeros_like ones_like full_like".split()
)
IN_PLACE = frozenset(
    "abs_ neg_ exp_ log_ sqrt_ rsqrt_ square_ reciprocal_ sigmoid_ tanh_ relu_ clamp_ clip_ clamp_min_ clamp_max_ pow_ "
    "add_ sub_ mul_ div_ zero_ fill_ masked_fill_ nan_to_num_ lerp_ logical_not_".split()
)
"""Methods that do the same to a tensor itself."""
_REDUCTIONS = frozenset("sum mean max min amax amin norm std prod any all".split())
"""Of a whole tensor they give one element, which is a factor as a number is."""
_LIKE = frozenset({"zeros", "ones", "full", "new_zeros", "new_ones", "new_full"})
_SIZES = frozenset({"size", "numel", "dim"})
_MODULES = ("torch.", "torch.Tensor.", "torch.nn.functional.", "torch.special.")
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.Mod, ast.BitAnd, ast.BitOr, ast.BitXor)
_HOPS = 2


class Arithmetic(NamedTuple):
    """What is known of the expressions around a place."""

    place: Place
    given: Mapping[str, Shapes]
    """The names that the same block has bound before."""

    def shapes(self, node: ast.expr, hops: int = _HOPS) -> Shapes | None:
        """The tensors whose shape an expression has; None for what is more, or something else, than such arithmetic."""
        if isinstance(node, ast.Constant):
            return ONE if isinstance(node.value, int | float) else None
        if isinstance(node, ast.Name | ast.Attribute):
            return self._of_name(node, hops)
        if isinstance(node, ast.UnaryOp):
            return self.shapes(node.operand, hops) if not isinstance(node.op, ast.Not) else None
        if isinstance(node, ast.BinOp):
            return self._of_all((node.left, node.right), hops) if isinstance(node.op, _ARITHMETIC) else None
        if isinstance(node, ast.Compare):
            return self._of_all((node.left, *node.comparators), hops) if len(node.ops) == 1 else None
        if isinstance(node, ast.Subscript):
            return self._of_part(node, hops)
        return self._of_call(node, hops) if isinstance(node, ast.Call) else None

    def is_tensor(self, node: ast.expr) -> bool:
        """Whether an expression is known to be a tensor that may be on a device."""
        return self.place.file.value(node, self.place).on_device

    def _of_all(self, nodes: tuple[ast.expr, ...], hops: int) -> Shapes | None:
        found: Shapes = ONE
        for node in nodes:
            shapes = self.shapes(node, hops)
            if shapes is None:
                return None
            found |= shapes
        return found

    def _of_name(self, node: ast.Name | ast.Attribute, hops: int) -> Shapes | None:
        written = ast.unparse(node)
        if written in self.given:
            return self.given[written]
        if isinstance(node, ast.Attribute) and node.attr == "data":
            return self.shapes(node.value, hops)
        value = self.place.file.value(node, self.place)
        if value.kind != "tensor":
            return ONE if value.kind in ("plain", "unknown", "dtype") else None
        if value.device == HOST:
            return None  # to compute with what stays on the host may be meant
        return frozenset({written}) | self._as_bound(node, hops)

    def _as_bound(self, node: ast.expr, hops: int) -> Shapes:
        """The tensors whose shape a name has by what it was bound to."""
        place = self.place
        body = place.file.project.body(place.file.path)
        if body is None or hops <= 0 or not isinstance(node, ast.Name):
            return ONE
        reaching = body.reaching(place.function, node.id, place.frame.at) or ()
        bound = [d.value for d in reaching if d.how == "assign" and d.value is not None]
        if len(bound) != 1 or len(reaching) != 1 or any(part is node for part in nodes_of(bound[0])):
            return ONE
        return self.shapes(bound[0], hops - 1) or ONE

    def _of_part(self, node: ast.Subscript, hops: int) -> Shapes | None:
        """`x[..., 0]` has a shape of its own; `x[mask]` waits for how many there are."""
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            return ONE
        if is_text(node.slice) and self.is_tensor(node):
            return frozenset({ast.unparse(node)})  # of a mapping: an entry is a tensor of its own
        whole = self.shapes(node.value, hops) if self.is_plain_index(node.slice) else None
        return frozenset({ast.unparse(node)}) if whole else whole

    def is_plain_index(self, index: ast.expr) -> bool:
        """Whether an index is of numbers and slices that the host knows."""
        if isinstance(index, ast.Tuple):
            return all(map(self.is_plain_index, index.elts))
        if isinstance(index, ast.Slice):
            return all(map(self.is_plain_index, (p for p in (index.lower, index.upper, index.step) if p is not None)))
        if isinstance(index, ast.UnaryOp):
            return self.is_plain_index(index.operand)
        if isinstance(index, ast.Constant):
            return not isinstance(index.value, str)
        return isinstance(index, ast.Name | ast.Attribute) and self.place.file.value(index, self.place).kind == "plain"

    def _of_call(self, call: ast.Call, hops: int) -> Shapes | None:
        name = last_part(chain(call.func))
        if name == "float" and len(call.args) == 1 and isinstance(call.args[0], ast.Constant):
            return ONE
        if not isinstance(call.func, ast.Attribute) or any(k.arg in (None, "out") for k in call.keywords):
            return None
        operands = self._operands(call, call.func)
        if operands is None:
            return None
        if name in _SIZES:
            return ONE
        if name in _LIKE:
            return self._of_size(call)
        if name in _REDUCTIONS and len(operands) == 1 and not call.keywords:
            return ONE if self.shapes(operands[0], hops) is not None else None
        return self._of_all(operands, hops) if name in _METHODS else None

    def _operands(self, call: ast.Call, method: ast.Attribute) -> tuple[ast.expr, ...] | None:
        """What a function of torch is given, or a method of a tensor with what it belongs to; None for other calls."""
        settings = {"dtype", "device", "memory_format", "rounding_mode"}
        if any(isinstance(given, ast.Starred) for given in call.args):
            return None
        given = tuple(part for part in arguments(call) if not is_none(part))
        given = tuple(part for part in given if not any(k.value is part and k.arg in settings for k in call.keywords))
        denoted = self.place.file.denotes(call.func, self.place) or ""
        if "()" not in denoted and denoted.rpartition(".")[0] + "." in _MODULES:
            return given
        return (method.value, *given) if self.is_tensor(method.value) else None

    def _of_size(self, call: ast.Call) -> Shapes | None:
        """`torch.zeros(x.shape)`, `x.new_zeros(x.size())`: the shape of `x`."""
        size = call.args[0] if call.args else None
        if isinstance(size, ast.Call) and not size.args and isinstance(size.func, ast.Attribute):
            size = size.func if size.func.attr == "size" else None
        if not isinstance(size, ast.Attribute) or size.attr not in ("shape", "size"):
            return None
        return self.shapes(size.value)
