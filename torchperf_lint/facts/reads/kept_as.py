"""What becomes of a number that was read from the device: who may read it later instead.

total += loss.item()                       # recorded: a tensor can be added up as well, and read in the end
return {"loss": loss.item()}               # returned: the caller may read it when it logs
self.pool(x, size=lengths.max().item())    # used at once: a later read is too late
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.enclosing import Enclosing
from torchperf_lint.facts.syntax.syntax import names_of
from torchperf_lint.patterns import pattern

RECORDED, RETURNED, USED = "recorded", "returned", "used"
_RECORDS = pattern(
    r"(?:^|[._])(?:append|extend|add|update|log|info|debug|print|record|track|store|observe|push|write|report|put|"
    r"format|join|setdefault|insert)(?:\(\))?$"
    r"|(?:^|\.)_*(?:set|add|log|write|update)_\w+(?:\(\))?$"
    r"|(?:^|[._])(?:meter|metric|logger|writer|stats?|history|tracker)s?(?:\(\)|\[\])?$"
)
"""What keeps, adds up or shows numbers."""
_SAME = frozenset(
    "float int round abs bool str max min sum len dict list tuple np.mean np.sum np.sqrt math.sqrt".split()
)
"""What gives a number for a number: it is recorded, returned or used as that is."""
_SETTINGS = pattern(r"(?:^|\.)(?:param_)?(?:group|state|defaults)s?(?:\[[^\]]*\])*$")
"""What an optimizer takes its next step by: nothing is only kept there."""
_HOPS = 3


_GATHERS = (".append", ".extend", ".insert")
_TAKES_NUMBERS = pattern(
    r"(?:^|[._])(?:foreach_\w+|zeros|ones|empty|full|split|view|reshape|expand|repeat|range|narrow|pad|arange)$"
)
"""What computes with the numbers of a list at once: sizes, and factors for many tensors."""


def kept_as(place: Place) -> str:
    """What a number that is read becomes; USED where any of its uses is none of the others."""
    follow = following(place)
    if follow is None:
        return USED
    then = follow.kept(place.expression)
    return USED if then == RECORDED and _is_used_by_others(place, follow.held) else then


def _is_used_by_others(place: Place, held: set[str]) -> bool:
    """Whether a method of the same class computes with an attribute that was given the number: `self.scale * x`."""
    own = place.file.project.index.class_of(place.file.path, place.function)
    if own is None or not held:
        return False
    for function in place.file.project.index.record(own).methods.values():
        around = place.file.enclosing(function)
        for node in around.of_kinds((ast.Attribute,)):
            read = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
            if read and chain(node) in held and _sets_up(around, node):
                return True
    return False


def _sets_up(around: Enclosing, node: ast.AST) -> bool:
    """Whether a number is a factor in what a call is given, or what an optimizer takes its next step by."""
    for parent in around.ancestors(node):
        if isinstance(parent, ast.Assign):
            return any(isinstance(t, ast.Subscript) and _SETTINGS.search(chain(t.value)) for t in parent.targets)
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mult):
            return any(isinstance(outer, ast.Call | ast.Assign) for outer in around.ancestors(parent))
        if not isinstance(parent, ast.UnaryOp):
            return False
    return False


def following(place: Place) -> Following | None:
    """What follows numbers through the function around a place; None where its text is not known."""
    body = place.file.project.body(place.file.path)
    return Following(body, place.function, place.file.enclosing(place.function)) if body is not None else None


class Following:
    """Follows numbers through one function."""

    def __init__(self, body: Body, function: int, around: Enclosing) -> None:
        self.body = body
        self.function = function
        self.around = around
        self.places: set[int | None] = set()
        """Where what was followed stands in the tuples that the function returns; None for all that is returned."""
        self.whole = False
        """Whether it was made a whole number on its way, as sizes and places are."""
        self.held: set[str] = set()
        """The attributes of `self` that were given it."""

    def kept(self, node: ast.AST, hops: int = _HOPS) -> str:
        """What a number becomes; USED where any of its uses is none of the others."""
        added: set[str] = set()
        self.whole = self.whole or (isinstance(node, ast.Call) and chain(node.func) == "int")
        for parent in self.around.ancestors(node):
            if isinstance(parent, ast.BinOp):
                added |= {chain(side) for side in (parent.left, parent.right) if side is not node}
            if isinstance(parent, ast.Return | ast.Yield):
                self.places.add(_place_in(parent, node))
                return RETURNED
            if isinstance(parent, ast.AugAssign):
                return USED if chain(parent.target) in self._tested(parent) else RECORDED
            if isinstance(parent, ast.JoinedStr | ast.Expr):
                return RECORDED
            if isinstance(parent, ast.Assign | ast.AnnAssign):
                return self._bound(parent, added, hops)
            called = chain(parent.func) if isinstance(parent, ast.Call) and parent.func is not node else ""
            if called and called not in _SAME:
                gathered = called.endswith(_GATHERS) and self._is_computed_with(called.rpartition(".")[0])
                return RECORDED if _RECORDS.search(called) and not gathered else USED
            if isinstance(parent, ast.Subscript | ast.stmt | ast.Compare) or _asks(parent, node):
                return USED
            self.whole = self.whole or (isinstance(parent, ast.Call) and chain(parent.func) == "int")
            if not isinstance(parent, ast.Tuple):
                node = parent
        return USED

    def _is_computed_with(self, gathered: str) -> bool:
        """Whether a list that numbers are put into is computed with: `sizes.append(n)`, `x.split(sizes)`."""
        for use in self.body.reads(self.function, gathered):
            for parent in self.around.ancestors(use):
                if isinstance(parent, ast.stmt):
                    break
                if isinstance(parent, ast.Call) and _TAKES_NUMBERS.search(chain(parent.func)):
                    return True
        return False

    def of_names(self, names: Iterable[str], assignment: ast.stmt, hops: int = _HOPS) -> str:
        """What becomes of the numbers that a statement gives some names."""
        tested = {id(part) for loop in self._loops(assignment) for part in ast.walk(loop.test)}
        found = set()
        for name in names:
            for use in self.body.reads(self.function, name):
                if use.lineno > assignment.lineno or id(use) in tested:
                    found.add(self.kept(use, hops))
        return next((word for word in (USED, RETURNED) if word in found), RECORDED)

    def _bound(self, assignment: ast.Assign | ast.AnnAssign, added: set[str], hops: int) -> str:
        targets = assignment.targets if isinstance(assignment, ast.Assign) else [assignment.target]
        if any(isinstance(target, ast.Subscript | ast.Attribute) for target in targets):
            self.held |= {chain(target) for target in targets if chain(target).startswith("self.")}
            return self._put(targets)
        names = {name for target in targets for name in names_of(target)}
        if names & added:
            return RECORDED  # `total = total + loss.item()`
        return self.of_names(sorted(names), assignment, hops - 1) if hops else USED

    def _put(self, targets: Sequence[ast.expr]) -> str:
        """`stats["loss"] = loss.item()` is recorded; `sizes["n"] = int(n)` of what is returned, too, is a size."""
        held = [target.value for target in targets if isinstance(target, ast.Subscript)]
        if any(_SETTINGS.search(chain(container)) for container in held):
            return USED
        returned = {chain(node) for node in self.body.returns(self.function)}
        if self.whole and any(chain(container) in returned for container in held):
            self.places.add(None)
            return RETURNED
        return RECORDED

    def _loops(self, node: ast.AST) -> list[ast.While]:
        return [outer for outer in self.around.around(node) if isinstance(outer, ast.While)]

    def _tested(self, node: ast.AST) -> set[str]:
        """What the loops around a place go on by."""
        return {chain(part) for loop in self._loops(node) for part in ast.walk(loop.test)}


def _place_in(returning: ast.Return | ast.Yield, node: ast.AST) -> int | None:
    value = returning.value
    if not isinstance(value, ast.Tuple):
        return None
    return next((number for number, part in enumerate(value.elts) if part is node), None)


def _asks(parent: ast.AST, node: ast.AST) -> bool:
    """Whether a number is asked whether it is zero."""
    if isinstance(parent, ast.UnaryOp):
        return isinstance(parent.op, ast.Not)
    return isinstance(parent, ast.IfExp) and parent.test is node
