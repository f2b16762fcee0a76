"""Rows that a loop selects from one by one, each by its own part of a mask: the device is waited for at every row.

    ys = [y[y != pad] for y in padded]              for i in range(len(x)): parts.append(x[i][mask[i]])

All rows can be selected from at once, and cut apart by one list of counts: `x[mask].split(mask.sum(-1).tolist())`.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.constants.tracing import Loop, bound_by, parts_of
from torchperf_lint.facts.element_loops.doubts import comes_after_the_model
from torchperf_lint.facts.element_loops.elements import element_loop
from torchperf_lint.facts.element_loops.single import is_length, is_one_tensor
from torchperf_lint.facts.element_loops.turns import HANDFUL
from torchperf_lint.facts.hotness.loop import FEW_TURNS
from torchperf_lint.facts.indexing.selections import INDICES, LOAD, Selection
from torchperf_lint.facts.outlines.guards import literal_turns
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import names_of

_HOPS = 3
_SAME_SHAPE = frozenset({"bool", "to", "type", "long", "int", "float", "detach", "logical_not", "eq", "ne", "gt", "lt"})


def is_by_row(selection: Selection) -> bool:
    """Whether each turn of a loop over the rows of tensors selects by the row of a mask that is there before it."""
    spot = selection.spot
    if selection.form not in (LOAD, INDICES) or spot.hot.kind not in ("step", "forward"):
        return False
    if comes_after_the_model(spot.file.outline.functions[spot.function].qualname, spot.hot.kind):
        return False
    around = spot.file.enclosing(spot.function)
    loop = next(around.loops(spot.expression), None)
    if loop is None or not _Rows(selection, loop).goes_by_row():
        return False
    whole = around.parents[loop] if isinstance(loop, ast.comprehension) else loop
    found = element_loop(spot.file, spot.at(whole)) if isinstance(whole, ast.For | ast.expr) else None
    return found is None or found.doubt is not None  # else the loop itself is told, by its rule


class _Rows:
    """One loop, and what its turns select by."""

    def __init__(self, selection: Selection, loop: Loop) -> None:
        self.selection, self.loop, self.spot = selection, loop, selection.spot
        self.file = selection.spot.file
        self.changed = bound_by(self.file, self.spot.function, loop)

    def goes_by_row(self) -> bool:
        """Whether the mask is made of rows, the turn's own, and so is what it selects from."""
        turns = literal_turns(self.loop.iter)
        named = names_of(self.loop.target, self.loop.iter)
        if (turns is not None and turns <= FEW_TURNS) or any(HANDFUL.search(name) for name in named):
            return False
        whole = self.selection.form == INDICES or self._row(self.selection.base, _HOPS)
        return whole and self._row(self.selection.mask, _HOPS)

    def _row(self, node: ast.expr, hops: int) -> bool:
        """Whether an expression is a row of a tensor, or is computed from such rows and numbers of the host."""
        if isinstance(node, ast.Compare | ast.BinOp):
            sides = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.left, *node.comparators]
            tensors = [side for side in sides if not self._is_number(side)]
            return bool(tensors) and all(self._row(side, hops) for side in tensors)
        if isinstance(node, ast.UnaryOp):
            return self._row(node.operand, hops)
        if isinstance(node, ast.Call):
            method = node.func if isinstance(node.func, ast.Attribute) else None
            fits = method is not None and method.attr in _SAME_SHAPE and all(map(self._is_number, node.args))
            return method is not None and fits and self._row(method.value, hops)
        if isinstance(node, ast.Subscript):
            return self._indexed(node)
        return isinstance(node, ast.Name) and self._named(node, hops)

    def _is_number(self, node: ast.expr) -> bool:
        """What no turn changes, and is no tensor."""
        return not names_of(node) & self.changed and self.file.value(node, self.spot).kind not in ("tensor", "batch")

    def _indexed(self, node: ast.Subscript) -> bool:
        """`x[i]`, `x[i, :]`, in a loop over as many numbers as there are rows."""
        first, *others = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        counter = self.loop.target
        called = self.loop.iter.func if isinstance(self.loop.iter, ast.Call) else counter
        if isinstance(counter, ast.Tuple) and chain(called) == "enumerate":
            counter = counter.elts[0]
        ours = isinstance(first, ast.Name) and isinstance(counter, ast.Name) and first.id == counter.id
        whole = all(isinstance(part, ast.Slice) and part.lower is part.upper is part.step is None for part in others)
        return ours and whole and not names_of(node.value) & self.changed and self._counts() and self._whole(node.value)

    def _counts(self) -> bool:
        """Whether the loop's numbers are those of the rows of a tensor."""
        iterated = self.loop.iter
        if not isinstance(iterated, ast.Call) or not iterated.args:
            return False
        if last_part(chain(iterated.func)) == "enumerate":
            return True
        ranged = last_part(chain(iterated.func)) in ("range", "trange")
        return ranged and len(iterated.args) == 1 and is_length(self.file, self.spot, iterated.args[0])

    def _named(self, node: ast.Name, hops: int) -> bool:
        walked = [part for name, part in parts_of(self.loop.target, self.loop.iter) if name == node.id]
        if walked:
            return all(self._whole(part) for part in walked)
        body = self.file.project.body(self.file.path)
        if body is None or hops <= 0 or node.id not in self.changed:
            return False
        reaching = body.reaching(self.spot.function, node.id, body.at(node)) or ()
        return len(reaching) == 1 and all(
            d.how == "assign" and d.value is not None and self._row(d.value, hops - 1) for d in reaching
        )

    def _whole(self, node: ast.expr) -> bool:
        """A tensor that has rows: one, and not a list of them."""
        known = self.file.value(node, self.spot).kind in ("tensor", "batch")
        return known and is_one_tensor(self.file, self.spot, node)
