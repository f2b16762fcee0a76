"""Elements of different lengths: turns of a loop that take, or make, more of one element than of another."""

from __future__ import annotations

import ast
import re
from functools import cached_property
from typing import TYPE_CHECKING

from torchperf_lint.facts.element_loops.lookups import counted, looked_up
from torchperf_lint.facts.element_loops.rows import fills_row, is_cut_evenly, picked_whole
from torchperf_lint.facts.element_loops.searches import finds_one
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import names_of
from torchperf_lint.facts.values.integer_indices import integer_index
from torchperf_lint.patterns import pattern

if TYPE_CHECKING:
    from torchperf_lint.facts.element_loops.turns import Turn

_FACTOR = pattern(r"(?:^|_)(?:weights?|scales?|alphas?|lambdas?|lamb|coef\w*|factors?|w)(?:_|$)")
"""Names of lists with a number for each class or channel."""
_MASK_NAME = pattern(r"mask|valid|inside", re.IGNORECASE)
RAGGED = frozenset(
    "nonzero masked_select unique unique_consecutive argwhere nms batched_nms linear_sum_assignment pad_sequence "
    "pack_padded_sequence multinomial bincount histc randperm split".split()
)
_COUNTED = {"histc": ("bins", 1), "multinomial": ("num_samples", 1), "randperm": ("n", 0)}
"""Of these, what says how many they give, and its position in torch's function."""
_ONE_NUMBER = frozenset("max min sum amax amin any all".split())
"""Reductions to one number that take a mask just as well."""
_CONTAINERS = pattern(r"(?:typing\.)?(?:list|tuple|dict|sequence|iterable|mapping)\b", re.IGNORECASE)
_SIZED = frozenset(
    "expand repeat repeat_interleave zeros ones full empty arange linspace range narrow pad view reshape new_zeros "
    "new_ones new_full topk".split()
)
_PAIR = 2
_OF_SIZES_ALONE = frozenset("expand repeat zeros ones empty arange range reshape view new_zeros new_ones".split())
"""Of those, what takes nothing else: `torch.arange(h)` for `t, h, w in grids`."""


class Raggedness:
    """What one turn of a loop says of the lengths of elements."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn

    def why(self) -> str | None:
        """Elements of different lengths: lists beside the tensor, slices that end elsewhere each turn, masks."""
        fills = {part for n in self.turn.nodes if fills_row(self.turn, n) is not None for part in ast.walk(n)}
        for node in self.turn.nodes:
            if isinstance(node, ast.Call) and node in fills:
                continue  # however long the part of a row is
            if isinstance(node, ast.Call) and last_part(chain(node.func)) in RAGGED and self._is_ragged(node):
                return f"`{last_part(chain(node.func))}` gives a different number each turn"
            if isinstance(node, ast.Call) and last_part(chain(node.func)) in _SIZED and self._sizes_itself(node):
                return "sizes that differ from turn to turn"
            if isinstance(node, ast.Call) and last_part(chain(node.func)) == "interpolate" and self._shaped(node):
                return "elements of different shapes"
            if isinstance(node, ast.Call) and last_part(chain(node.func)) == "where" and len(node.args) == 1:
                return "`where` gives a different number each turn"
            # A mask that is written through (`b[bad] = 0`) is a masked fill, which needs no lengths.
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and self._varies(node.slice):
                if self._is_reduced(node) or picked_whole(self.turn, node) or counted(self.turn, node):
                    continue
                return "slices of different lengths"
        for subscript in self.turn.indexed:
            kind = self.turn.file.value(subscript.value, self.turn.place).kind
            known = kind in ("tensor", "batch") or (kind == "unknown" and self._may_be_a_tensor(subscript))
            if not known and not self._is_factor(subscript) and not self._taken_whole(subscript):
                return f"`{self.turn.file.brief(subscript)}` comes from a list"
        return None

    def _is_ragged(self, node: ast.Call) -> bool:
        return not (self._finds_one(node) or self._is_told_how_many(node))

    def _is_told_how_many(self, node: ast.Call) -> bool:
        """`x[i].histc(bins=n, min=0, max=1)`, `randperm(n)`: as many in each turn."""
        told = _COUNTED.get(last_part(chain(node.func)))
        if told is None:
            return False
        keyword, position = told
        position -= self._is_method(node)
        given = [k.value for k in node.keywords if k.arg == keyword] + node.args[position : position + 1]
        return bool(given) and not self.turn.mentions(given[0]) and self._fixed(given[0])

    def _finds_one(self, node: ast.Call) -> bool:
        """`(schedule == t).nonzero().item()`: one place, and not as many as there happen to be."""
        return finds_one(self.turn.file, self.turn.place.function, node)

    def _is_reduced(self, node: ast.Subscript) -> bool:
        """Whether what a mask selects becomes one number at once, as `x.masked_fill(~mask, -inf).amax(1)` does."""
        if not self._is_mask(node.slice):
            return False
        parents = self.turn.file.enclosing(self.turn.place.function).parents
        method = parents.get(node)
        call = parents.get(method) if isinstance(method, ast.Attribute) else None
        if isinstance(method, ast.Call) and node in method.args:
            call, name = method, last_part(self.turn.file.denotes(method.func, self.turn.place) or "")
        else:
            name = method.attr if isinstance(method, ast.Attribute) else ""
        return isinstance(call, ast.Call) and name in _ONE_NUMBER and not call.keywords

    def _sizes_itself(self, node: ast.Call) -> bool:
        """`frame.expand(durations[i], -1)`, `torch.arange(h)`: an element says how large the result is."""
        # What is given first, `torch.topk(x[i], k)`, is the element itself, but for factories.
        named = (
            isinstance(node.func, ast.Attribute)
            and node.func.attr == "topk"
            and not self.turn.is_tensor(node.func.value)
        )
        sizes = [*node.args[int(named) :], *(keyword.value for keyword in node.keywords)]
        parts = [part for argument in sizes for part in ast.walk(argument)]
        if any(isinstance(part, ast.Subscript) and self.turn.is_index(part.slice) for part in parts):
            return True
        if last_part(chain(node.func)) == "repeat_interleave":
            parts = [part for size in sizes[0 if self._is_method(node) else 1 :] for part in ast.walk(size)]
            return any(isinstance(part, ast.Name) and part.id in self.turn.variables for part in parts)
        factory = last_part(chain(node.func)) in _OF_SIZES_ALONE
        return factory and any(isinstance(part, ast.Name) and part.id in self.turn.variables for part in parts)

    def _is_method(self, node: ast.Call) -> bool:
        return isinstance(node.func, ast.Attribute) and self.turn.is_tensor(node.func.value)

    def _shaped(self, node: ast.Call) -> bool:
        """`interpolate(label, pred.shape[2:])`: what is resized for each element has not the shape of all."""
        sizes = [*node.args[1:], *(keyword.value for keyword in node.keywords)]
        asked = (part for size in sizes for part in ast.walk(size) if isinstance(part, ast.Attribute))
        return any(part.attr in ("shape", "size") and self.turn.mentions(part.value) for part in asked)

    def _taken_whole(self, subscript: ast.Subscript) -> bool:
        return is_cut_evenly(self.turn, subscript.value) or looked_up(self.turn, subscript)

    def _is_factor(self, subscript: ast.Subscript) -> bool:
        """`loss += dice * weight[i]`: a list of numbers, by its name, which one tensor holds as well."""
        parent = self.turn.file.enclosing(self.turn.place.function).parents.get(subscript)
        if not isinstance(parent, ast.AugAssign | ast.BinOp) or not isinstance(parent.op, ast.Mult | ast.Div):
            return False
        sides = (parent.left, parent.right) if isinstance(parent, ast.BinOp) else (parent.target, parent.value)
        named = isinstance(subscript.slice, ast.Name) and _FACTOR.search(last_part(chain(subscript.value)))
        return bool(named) and any(self.turn.is_tensor(side) for side in sides if side is not subscript)

    def _may_be_a_tensor(self, subscript: ast.Subscript) -> bool:
        """A name of which nothing says that it is a list: no annotation, no `targets[i]["boxes"]`."""
        if not isinstance(subscript.value, ast.Name):
            return False
        parent = self.turn.file.enclosing(self.turn.place.function).parents.get(subscript)
        if isinstance(parent, ast.Subscript) and isinstance(parent.slice, ast.Constant):
            return False
        name, parameters = subscript.value.id, self.turn.file.outline.functions[self.turn.place.function].parameters
        return not any(p.name == name and _CONTAINERS.match(p.annotation) for p in parameters)

    def _varies(self, index: ast.expr) -> bool:
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        paired = self._are_paired(parts)
        for part in parts:
            if isinstance(part, ast.Slice):
                if part.lower is not None and part.upper is not None and self._is_window(part.lower, part.upper):
                    continue
                ends = [end for end in (part.lower, part.upper) if end is not None]
                if any(not isinstance(n, ast.Constant | ast.UnaryOp) and not self._fixed(n) for n in ends):
                    return True
            elif not paired and self._is_mask(part) and not self._same_each_turn(part):
                return True
        return False

    def _are_paired(self, parts: list[ast.expr]) -> bool:
        """`table[tags[i - 1], tags[i]]`: two tensors pick element by element, which masks seldom do."""
        picking = [part for part in parts if not isinstance(part, ast.Slice | ast.Constant)]
        if len(picking) < _PAIR or any(isinstance(part, ast.Compare | ast.UnaryOp) for part in picking):
            return False
        if any(_MASK_NAME.search(last_part(chain(part))) for part in picking):
            return False
        return sum(self.turn.is_tensor(part) for part in picking) >= _PAIR

    def _is_window(self, lower: ast.expr, upper: ast.expr) -> bool:
        """`x[start : start + n]`, with an `n` that is the same each turn: pieces of one length, wherever they begin."""
        if isinstance(upper, ast.Name) and upper.id in self._set_here:
            ends = [n.value for n in self._assigned if n.targets and chain(n.targets[0]) == upper.id]
            upper = ends[0] if len(ends) == 1 else upper
        if not isinstance(upper, ast.BinOp) or not isinstance(upper.op, ast.Add):
            return False
        sides = {ast.unparse(upper.left): upper.right, ast.unparse(upper.right): upper.left}
        length = sides.get(ast.unparse(lower))
        return length is not None and self._fixed(length) and not self.turn.mentions(length)

    @cached_property
    def _assigned(self) -> list[ast.Assign]:
        return [node for node in self.turn.nodes if isinstance(node, ast.Assign)]

    def _fixed(self, node: ast.expr) -> bool:
        """A bound that is the same, or as far on, each turn."""
        taken = any(isinstance(n, ast.Subscript | ast.Call) for n in ast.walk(node))
        return not taken and not (names_of(node) & self._set_here)

    def _same_each_turn(self, node: ast.expr) -> bool:
        """A mask from before the loop: it selects as many of every element."""
        return isinstance(node, ast.Name) and node.id not in self._set_here | self.turn.variables

    @cached_property
    def _set_here(self) -> set[str]:
        return {n.id for n in self.turn.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}

    def _is_mask(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Compare):
            return True
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, ast.Invert)
        if not isinstance(node, ast.Name | ast.Subscript | ast.Attribute) or self.turn.is_order(self.turn.named(node)):
            return False
        # An element of the tensor that the loop goes over may be a row of a mask, which its name says.
        taken = isinstance(node, ast.Name) and node.id in self.turn.variables and not _MASK_NAME.search(node.id)
        return not taken and self.turn.is_tensor(node) and not self._holds_places(node)

    def _holds_places(self, node: ast.expr) -> bool:
        """`tags[i]`, of a `LongTensor`: as many places in each turn."""
        whole, place = self.turn.named(node), self.turn.place
        while isinstance(whole, ast.Subscript):
            whole = whole.value
        if not isinstance(whole, ast.Name) or whole is node:
            return False
        return integer_index(self.turn.file.project.values, whole, place.frame) is not None
