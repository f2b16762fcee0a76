"""What becomes of the elements that a mask selects: whether there is a way to write it that needs no size."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.element_loops.searches import finds_one
from torchperf_lint.facts.files.spots import Spot
from torchperf_lint.facts.indexing.columns import taken_by_columns, taken_by_names
from torchperf_lint.facts.indexing.compared import is_called_loss, is_loss
from torchperf_lint.facts.indexing.each_layer import is_found_in_each_layer
from torchperf_lint.facts.indexing.first_place import takes_first_place
from torchperf_lint.facts.indexing.fixed_masks import fixed_in
from torchperf_lint.facts.indexing.given_to_helpers import uses_in_helper
from torchperf_lint.facts.indexing.group_masks import is_by_group, is_full
from torchperf_lint.facts.indexing.marked import is_marked
from torchperf_lint.facts.indexing.one_row_stored import is_one_row
from torchperf_lint.facts.indexing.own_steps import finds_own_step
from torchperf_lint.facts.indexing.picked import ELEMENTWISE, fits, is_by_mask, is_larger_of_two
from torchperf_lint.facts.indexing.purposes import (
    BY_GROUP,
    BY_ROW,
    CHECKED,
    COUNTED,
    EACH_LAYER,
    FILLED,
    FIRST,
    FIXED,
    FOUND,
    FULL,
    LOST,
    MARKED,
    ONE_A_ROW,
    ONE_ROW,
    OWN_STEP,
    RANKED,
    REDUCED,
    SCATTERED,
    STEADY,
    TALLIED,
    WRITTEN,
)
from torchperf_lint.facts.indexing.put_back import is_unreduced, lays_out, puts_back, scatters_back
from torchperf_lint.facts.indexing.ranked import takes_largest
from torchperf_lint.facts.indexing.row_masks import is_by_row
from torchperf_lint.facts.indexing.scattered import is_scattered
from torchperf_lint.facts.indexing.selections import CHANGE, DISTINCT, INDICES, STORE, Selection, stored_value
from torchperf_lint.facts.indexing.steady_masks import is_steady
from torchperf_lint.facts.indexing.taken_whole import keeps_first, takes_by
from torchperf_lint.facts.indexing.tallied import is_tallied
from torchperf_lint.facts.outlines.complaints import leaves, only_complains
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import names_of

_GUARD, _UNREDUCED, _OTHER = "guard", "unreduced", "other"
_ENDS = (WRITTEN, SCATTERED, LOST, REDUCED, RANKED, FILLED, COUNTED, CHECKED, ONE_A_ROW)
"""The first of them that one use has speaks for all."""
_STEPS = 12
_HOPS = 3

_REDUCING = frozenset(
    "sum mean median max min amax amin any all prod logsumexp nansum nanmean norm count_nonzero".split()
)
_SIZES = frozenset({"numel", "nelement", "size", "shape", "__len__"})
_RESHAPES = frozenset({"view", "reshape", "squeeze", "flatten"})
"""What makes the one column that `nonzero` gives of a mask with one dimension a row of indices."""


def purpose(selection: Selection) -> str | None:
    """What a selection is for, where that needs no size; None where it does, or where nobody knows."""
    node = selection.spot.expression
    assert isinstance(node, ast.expr)
    loop = fixed_in(selection)
    if loop is not None and loop.hot:
        return FIXED
    if finds_own_step(selection):
        return OWN_STEP
    if is_tallied(selection):
        return TALLIED
    found = _by_its_uses(selection, node)
    if found is None and selection.form == INDICES and _finds_one_each_turn(selection, node):
        return FOUND
    if found is None and selection.form == INDICES:
        found = FIRST if takes_first_place(selection.spot.file, selection.spot.function, node) else None
    if found is None and selection.form != DISTINCT:
        by_the_mask = (what for what, holds in _BY_THE_MASK.items() if holds(selection))
        return next(by_the_mask, None if loop is None else FIXED)
    return found


def _finds_one_each_turn(selection: Selection, node: ast.expr) -> bool:
    """Whether a loop looks one place up for each of its elements: `(order[i] == wanted[i]).nonzero().item()`."""
    file, function = selection.spot.file, selection.spot.function
    loops = (loop for loop in file.enclosing(function).around(node) if isinstance(loop, ast.For))
    mask = names_of(selection.mask)
    return any(mask & names_of(loop.target) for loop in loops) and finds_one(file, function, node)


_BY_THE_MASK = {
    STEADY: is_steady,
    FULL: is_full,
    BY_ROW: is_by_row,
    BY_GROUP: is_by_group,
    EACH_LAYER: is_found_in_each_layer,
    MARKED: is_marked,
}
"""What a selection is by its mask alone, whatever becomes of the elements."""


def _by_its_uses(selection: Selection, node: ast.expr) -> str | None:
    spot = selection.spot
    if selection.form in (STORE, CHANGE):
        statement = spot.file.enclosing(spot.function).statement(node)
        assert isinstance(statement, ast.Assign | ast.AugAssign)
        stored = statement.value if isinstance(statement, ast.AugAssign) else stored_value(statement, node)
        if stored is None:
            return None
        if fits(selection, stored):
            return WRITTEN
        if selection.form == STORE and is_one_row(selection, stored):
            return ONE_ROW
        return SCATTERED if selection.form == STORE and is_scattered(selection, stored) else None
    ends = _Uses(selection).ends(node, _HOPS)
    return _decided(ends, selection.form)


def _decided(ends: set[str], form: str) -> str | None:
    if _OTHER in ends or ends <= {_GUARD, _UNREDUCED} or ends >= {RANKED, COUNTED}:
        return None  # as many as a share of what is selected have to be counted
    if form == DISTINCT:
        return CHECKED if ends <= {CHECKED, _GUARD} else None
    return next((end for end in _ENDS if end in ends), None)


class _Uses:
    """Follows what one selection gives to where it ends."""

    def __init__(self, selection: Selection) -> None:
        self.selection = selection
        self.spot: Spot = selection.spot
        self.around = self.spot.file.enclosing(self.spot.function)
        index = selection.spot.expression
        parts = index.slice.elts if isinstance(index, ast.Subscript) and isinstance(index.slice, ast.Tuple) else []
        self.axis = next((n for n, part in enumerate(parts) if part is selection.mask), 0)
        """The dimension that the mask shrinks."""

    def ends(self, node: ast.expr, hops: int, counts: bool = False) -> set[str]:
        """Where the value of an expression goes; `counts`: it is only how many elements there are."""
        current: ast.AST = node
        for _ in range(_STEPS):
            parent = self.around.parents.get(current)
            if isinstance(parent, ast.keyword):
                current, parent = parent, self.around.parents.get(parent)
            if isinstance(parent, ast.Assign):
                return self._bound(parent, current, hops, counts)
            taken = taken_by_columns(self.around, current) if self.selection.form == INDICES else None
            if taken is not None:
                return self._of_places(taken, hops, counts)
            if isinstance(parent, ast.Tuple):
                return self._unpacked(parent, current, hops, counts)
            inside = self._in_helper(parent, current, hops, counts)
            if inside and _OTHER not in inside:
                return inside
            found = self._step(parent, current, counts)
            if isinstance(found, str):
                return {found}
            if found is None or parent is None:
                return {_OTHER}
            counts = counts or self._is_size(parent, current)
            current = found
        return {_OTHER}

    def _in_helper(self, call: ast.AST | None, given: ast.AST, hops: int, counts: bool) -> set[str]:
        """Where the uses end that a helper of the file makes of what it is given."""
        found = uses_in_helper(self.spot, call, given) if hops > 0 else None
        if found is None:
            return set()
        inside = _Uses(self.selection._replace(spot=self.spot._replace(function=found.function)))
        return set().union(*(inside.ends(use, hops - 1, counts) for use in found.uses))

    def _step(self, parent: ast.AST | None, node: ast.AST, counts: bool) -> str | ast.AST | None:
        """One node up: the node that holds the value now, how it ended, or None."""
        if isinstance(parent, ast.Raise | ast.Assert | ast.FormattedValue):
            return CHECKED
        if isinstance(parent, ast.Return):
            return _UNREDUCED if is_unreduced(self.around, parent) else None
        if isinstance(parent, ast.If | ast.IfExp | ast.While):
            return self._tested(parent, node, counts)
        if isinstance(parent, ast.BinOp | ast.UnaryOp | ast.Compare | ast.BoolOp):
            if counts and isinstance(parent, ast.BinOp):
                return COUNTED
            return parent
        if isinstance(parent, ast.Attribute):
            return self._method(parent, counts)
        if isinstance(parent, ast.Call):
            return self._argument(parent, node, counts)
        if isinstance(parent, ast.Subscript):
            return self._indexed(parent, node, counts)
        if isinstance(parent, ast.AugAssign) and node is parent.value:
            return WRITTEN if is_by_mask(self.selection, parent.target) else _OTHER
        return None

    def _tested(self, parent: ast.If | ast.IfExp | ast.While, node: ast.AST, counts: bool) -> str | ast.AST:
        if isinstance(parent, ast.IfExp) and node is not parent.test:
            return parent
        if isinstance(parent, ast.If) and (leaves(parent.body) or only_complains(parent.body)):
            return CHECKED
        return _GUARD if counts else _OTHER

    def _method(self, parent: ast.Attribute, counts: bool) -> str | ast.AST | None:
        if parent.attr == "shape":
            return parent
        call = self.around.parents.get(parent)
        if not isinstance(call, ast.Call) or call.func is not parent:
            return parent if parent.attr in ("data", "T", "values") else None
        name = parent.attr.rstrip("_")
        if parent.attr in ("fill_", "zero_") and isinstance(self.around.parents.get(call), ast.Expr):
            return FILLED  # of what a mask selects, which is a copy: what is filled is lost
        if name == "masked_select" or (self.selection.form == INDICES and name in _RESHAPES):
            return call
        if name in ("view", "reshape") and self._takes_one_a_row(call):
            return ONE_A_ROW
        if name in ("view", "reshape") and call.args and ast.unparse(call.args[0]) == "-1":
            return call  # elements in rows: `loc[mask].view(-1, 4)`
        if name in _SIZES or name in ELEMENTWISE or (counts and name == "item"):
            return call
        if name in _REDUCING:
            return self._reduced(call, call.args)
        if takes_largest(self.selection, call, name, call.args, self._uses):
            return RANKED
        if self.selection.form == DISTINCT and name in ("tolist", "cpu", "item"):
            return call
        return None

    def _takes_one_a_row(self, call: ast.Call) -> bool:
        """`.view(n, -1, d)[:, -1]`: as many of each row, of which one is wanted."""
        index = getattr(self.around.parents.get(call), "slice", None)
        parts = index.elts if isinstance(index, ast.Tuple) else []
        shaped = len(call.args) > 1 and ast.unparse(call.args[1]) == "-1"
        number = parts[1].operand if len(parts) > 1 and isinstance(parts[1], ast.UnaryOp) else None
        return shaped and isinstance(parts[0], ast.Slice) and isinstance(number, ast.Constant) if parts else False

    def _reduced(self, call: ast.Call, dims: list[ast.expr]) -> str | ast.AST | None:
        """A reduction over the selected elements ends them; one over another dimension is no more than arithmetic."""
        if self.selection.form == DISTINCT:
            return call
        dim = next((k.value for k in call.keywords if k.arg in ("dim", "axis")), dims[0] if dims else None)
        if dim is None or not isinstance(dim, ast.Constant | ast.UnaryOp):
            return REDUCED if dim is None else None
        written = ast.unparse(dim)
        return REDUCED if self.axis or written == "0" else call

    def _argument(self, call: ast.Call, node: ast.AST, counts: bool) -> str | ast.AST | None:
        if call.func is node:
            return None
        written = chain(call.func)
        name = last_part(written)
        if call.args[-1:] == [node] and scatters_back(self.selection, call):
            return WRITTEN
        if self.selection.form == INDICES and self._fills(call, name, node):
            return FILLED
        if name in ("len", "int", "float", "bool") or (counts and written in ("max", "min")):
            return call
        if name == "print":
            return CHECKED
        if name == api.VARIABLE or (self.selection.form == INDICES and takes_by(call, node)):
            return call
        denoted = self.spot.file.denotes(call.func, self.spot) or ""
        if is_loss(denoted) or (self.selection.form not in (INDICES, DISTINCT) and is_called_loss(name, call)):
            return LOST
        of_torch = api.is_torchs_own(denoted)
        own_method = isinstance(call.func, ast.Attribute) and not denoted
        if of_torch and name == "bincount" and node is call.args[0]:
            return REDUCED
        elementwise = (of_torch or own_method) and name in ELEMENTWISE and not written.startswith("self.")
        if elementwise or is_larger_of_two(self.selection, call):
            return call
        if of_torch and node is call.args[0] and takes_largest(self.selection, call, name, call.args[1:], self._uses):
            return RANKED
        return self._reduced(call, call.args[1:]) if of_torch and name in _REDUCING else None

    def _fills(self, call: ast.Call, name: str, node: ast.AST) -> bool:
        """`x.index_fill_(1, rows, 0)`: what `masked_fill_` does by the mask itself, widened to the shape of `x`."""
        if name not in ("index_fill", "index_fill_") or chain(call.func).startswith("torch."):
            return False
        named = {k.arg: k.value for k in call.keywords}
        index = named.get("index", call.args[1] if len(call.args) > 1 else None)
        value = named.get("value", call.args[-1] if call.args else None)
        given = node.value if isinstance(node, ast.keyword) else node
        return index is given and value is not None and value is not index and self._is_number(value)

    def _indexed(self, parent: ast.Subscript, node: ast.AST, counts: bool) -> str | ast.AST | None:
        if node is parent.value and not isinstance(parent.ctx, ast.Load):
            return None  # what is written into parts of a selection depends on its size
        if node is parent.value:
            if self.selection.form == INDICES and isinstance(parent.slice, ast.Constant):
                return parent  # `torch.where(m)[0]`
            if counts:
                return parent  # `x.shape[0]`
            return parent if not self.axis and keeps_first(parent.slice) else None
        if self.selection.form != INDICES:
            return None
        if isinstance(parent.ctx, ast.Load):
            return parent
        statement = self.around.statement(parent)
        if not isinstance(statement, ast.Assign):
            return None
        if self._is_number(statement.value):
            return FILLED
        if puts_back(self.selection, parent, statement.value):
            return WRITTEN
        return SCATTERED if lays_out(self.selection, parent, statement.value) else None

    def _is_number(self, node: ast.expr) -> bool:
        """A number of the host, `-np.inf` too."""
        bare = node.operand if isinstance(node, ast.UnaryOp) else node
        constant = isinstance(bare, ast.Attribute) and bare.attr in ("inf", "nan", "pi")
        return constant or self.spot.file.value(node, self.spot).kind == "plain"

    def _is_size(self, parent: ast.AST, node: ast.AST) -> bool:
        if isinstance(parent, ast.Attribute):
            return parent.attr in _SIZES
        return isinstance(parent, ast.Call) and parent.func is not node and last_part(chain(parent.func)) == "len"

    # -- names ---------------------------------------------------------------------------------------

    def _bound(self, statement: ast.Assign, value: ast.AST, hops: int, counts: bool) -> set[str]:
        """Where all uses of a name for the value end."""
        target = statement.targets[0]
        if len(statement.targets) != 1 or statement.value is not value:
            return {_OTHER}
        if isinstance(target, ast.Subscript):
            by_mask = is_by_mask(self.selection, target) and fits(self.selection, statement.value)
            back = self._takes_places(target) and puts_back(self.selection, target, statement.value)
            return {WRITTEN} if by_mask or back else {_OTHER}
        if isinstance(target, ast.Tuple) and len(target.elts) > 1 and self.selection.form == INDICES:
            return self._together(target, statement.value, hops, counts)
        return self._through(self._name_of(target), statement.value, hops, counts)

    def _together(self, target: ast.Tuple, value: ast.AST, hops: int, counts: bool) -> set[str]:
        """Where what is taken by `rows, cols = torch.where(m)` ends, if they are used for nothing else."""
        names = [chain(element) for element in target.elts]
        uses = [use for name in names for use in self._uses(name, value)]
        taken = taken_by_names(self.around, names, uses) if value is self.spot.expression and hops > 0 else None
        ends = [self._of_places(one, hops - 1, counts) for one in taken or ()]
        return set().union(*ends) if ends else {_OTHER}

    def _of_places(self, taken: ast.Subscript, hops: int, counts: bool) -> set[str]:
        """Where what all the places of a mask take ends, or what is put there."""
        if isinstance(taken.ctx, ast.Load):
            return self.ends(taken, hops, counts)
        statement = self.around.statement(taken)
        return {FILLED if isinstance(statement, ast.Assign) and self._is_number(statement.value) else _OTHER}

    def _unpacked(self, value: ast.Tuple, part: ast.AST, hops: int, counts: bool) -> set[str]:
        """`x, y = x[mask], y[mask]`: where the name ends that takes this part."""
        statement = self.around.parents.get(value)
        target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
        if not isinstance(target, ast.Tuple) or len(target.elts) != len(value.elts):
            return {_OTHER}
        place = next(n for n, element in enumerate(value.elts) if element is part)
        name = target.elts[place]
        return self._through(name.id if isinstance(name, ast.Name) else None, part, hops, counts)

    def _through(self, name: str | None, value: ast.AST, hops: int, counts: bool) -> set[str]:
        """Where all uses of a name end that is bound to a value."""
        if name is None or hops <= 0:
            return {_OTHER}
        found: set[str] = set()
        for use in self._uses(name, value):
            found |= self.ends(use, hops - 1, counts)
            if _OTHER in found:
                break
        return found or {_OTHER}

    def _uses(self, name: str, value: ast.AST) -> Iterator[ast.Name]:
        """Where a name is read that may be bound to a value."""
        body = self.spot.file.project.body(self.spot.file.path)
        assert body is not None
        for use in self.around.of_kinds((ast.Name,)):
            if not isinstance(use, ast.Name) or use.id != name or not isinstance(use.ctx, ast.Load):
                continue
            if any(d.value is value for d in body.reaching(self.spot.function, name, body.at(use)) or ()):
                yield use

    def _takes_places(self, target: ast.Subscript) -> bool:
        """Whether what is written is at the places that the selection gives: `x[rows]`, with `rows = m.nonzero()`."""
        body = self.spot.file.project.body(self.spot.file.path)
        if self.selection.form != INDICES or not isinstance(target.slice, ast.Name) or body is None:
            return False
        reaching = body.reaching(self.spot.function, target.slice.id, body.at(target.slice)) or ()
        ours = (
            any(part is self.spot.expression for part in ast.walk(d.value)) for d in reaching if d.value is not None
        )
        return len(reaching) == 1 and any(ours)

    def _name_of(self, target: ast.expr) -> str | None:
        """The one name that is bound; also of `rows, = torch.where(m)`."""
        if isinstance(target, ast.Tuple) and len(target.elts) == 1 and self.selection.form == INDICES:
            target = target.elts[0]
        return target.id if isinstance(target, ast.Name) else None
