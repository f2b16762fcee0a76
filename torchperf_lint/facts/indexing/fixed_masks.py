"""Masks that are the same in every turn of a loop: their elements could be found once, before it.

    train_mask = data.train_mask                            def train():
    for epoch in range(epochs):                                 out = model(data)
        loss = F.nll_loss(model(data)[train_mask], y)           return F.nll_loss(out[data.train_mask], y)

On the right the loop stands in the caller, `for epoch in range(epochs): train()`. A mask takes no gradient, so no
optimizer changes it: it is another one only where code binds it, or writes into it. A function that the loop calls may
do so, `resample()`, and so may whatever is given the data and hands nothing back, `update_masks(data)`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.constants.changed_in_place import given_for_effect
from torchperf_lint.facts.constants.held import changed_in, in_place
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.hotness.loop import FEW_TURNS
from torchperf_lint.facts.indexing.selections import DISTINCT, Selection
from torchperf_lint.facts.indexing.split_masks import is_split_mask
from torchperf_lint.facts.outlines.records import Position, Region
from torchperf_lint.facts.syntax.chains import chain

_HOPS = 3
_CALLERS = 4
_BITS = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.Add, ast.Mult)
_CHANGING_FORM = frozenset("bool to cuda type squeeze unsqueeze view reshape flatten".split())
"""Methods that give the same mask as another type, in another shape or place."""


class FixedIn(NamedTuple):
    """A loop whose turns all select by the same mask."""

    path: str
    head: int
    """The line of its `for` or `while`, 1-based."""
    hot: bool
    """Whether its turns are the steps themselves, and not parts of one."""


def fixed_in(selection: Selection) -> FixedIn | None:
    """The innermost loop with more than a few turns around a selection, where that leaves its mask as it is."""
    if selection.form == DISTINCT:
        return None
    spot = selection.spot
    key = FunctionKey(spot.file.path, spot.function)
    region = spot.file.project.hotness.innermost(spot.file.path, spot.start)
    look = _Look(spot.file.project, spot.file.once(_none_read))
    fixed = look.fixed(selection.mask, key, region, spot.start, _HOPS)
    return look.loops[0] if fixed and look.loops else None


def _none_read(file: SourceFile) -> dict[FunctionKey, frozenset[str]]:
    """Function -> the chains that it writes, to be filled as the selections of a file ask for them."""
    del file
    return {}


class _Look:
    """One question."""

    def __init__(self, project: Project, written: dict[FunctionKey, frozenset[str]]) -> None:
        self.project = project
        self._written = written
        self.loops: list[FixedIn] = []

    def fixed(self, node: ast.expr, key: FunctionKey, region: int, at: Position, hops: int) -> bool:
        """Whether an expression in a region of a function is the same in all turns of the loop around that."""
        body = self.project.body(key.path)
        parts = _parts(node)
        if hops <= 0 or body is None or not parts:
            return False
        loop = self._loop(key, region)
        return all(self._part(part, key, loop, region, at, hops) for part in parts)

    def _loop(self, key: FunctionKey, region: int) -> Region | None:
        """The innermost loop of a function around a region that has more than a few turns."""
        regions = self.project.index.outlines[key.path].regions
        while region >= 0 and regions[region].function == key.index:
            found = regions[region]
            if found.kind == "loop" and (found.turns is None or found.turns > FEW_TURNS):
                hot = self.project.hotness.loops.at(key.path, region) is not None
                self.loops.append(FixedIn(key.path, found.head, hot))
                return found
            region = found.parent
        return None

    def _part(
        self, node: ast.expr, key: FunctionKey, loop: Region | None, region: int, at: Position, hops: int
    ) -> bool:
        """Whether one name or attribute is."""
        body = self.project.body(key.path)
        root = chain(node).partition(".")[0].partition("[")[0]
        if body is None or not root.isidentifier():
            return False
        if root == "self" and not self._is_kept(node, key):
            return False
        if loop is not None and self._changes(body, key, loop, chain(node)):
            return False
        found = body.reaching(key.index, root, at)
        if loop is not None:
            return self._known(node) and not _binds(loop, found)
        if found is None:
            return self._from_callers(node, root, key, hops)
        value = body.assigned_once(key.index, root, at)
        same = value is not None and isinstance(node, ast.Name)
        return same and value is not None and self.fixed(value, key, region, body.at(value), hops - 1)

    def _known(self, node: ast.expr) -> bool:
        """A name, an attribute of `self`, or what only a data set has: other objects change theirs as they like."""
        return isinstance(node, ast.Name) or chain(node).startswith("self.") or is_split_mask(node)

    def _is_kept(self, node: ast.expr, key: FunctionKey) -> bool:
        """Whether no code that runs at every step sets the attribute of `self`; what the function sets is seen."""
        values = self.project.values
        own = values.index.class_of(key.path, key.index)
        parts = chain(node).split(".")
        if own is None or len(parts) < 2:
            return False
        setters = [k for cls in values.index.ancestry(own) for k in changed_in(values, cls, parts[1].partition("[")[0])]
        return bool(setters) and all(k == key or k not in values.hotness.functions for k in setters)

    def _from_callers(self, node: ast.expr, root: str, key: FunctionKey, hops: int) -> bool:
        """Whether the loops that call a function leave what it is given, or what it sees of the module, as it is."""
        sites = self.project.hotness.callers.get(key, ())
        return 0 < len(sites) <= _CALLERS and all(self._from(node, root, key, site, hops) for site in sites)

    def _from(self, node: ast.expr, root: str, key: FunctionKey, site: CallSite, hops: int) -> bool:
        values, record = self.project.values, self.project.index.function(key)
        call, body = call_at(values, site), self.project.body(site.path)
        if call is None or body is None or not (isinstance(node, ast.Name) or is_split_mask(node)):
            return False
        there = FunctionKey(site.path, site.call.function)
        at = body.at(call)
        if root not in [p.name for p in record.parameters]:
            seen = root in body.definitions(0) and site.path == key.path
            return seen and self.fixed(node, there, site.call.region, at, hops - 1)
        if root == "self":
            same = site.path == key.path and chain(call.func).startswith("self.") and chain(call.func).count(".") == 1
            return same and self.fixed(node, there, site.call.region, at, hops - 1)
        given = argument_for(call, record, root)
        if not isinstance(given, ast.Name | ast.Attribute):
            return False
        loop = self._loop(there, site.call.region)
        if loop is None or isinstance(node, ast.Name):
            return self.fixed(given, there, site.call.region, at, hops - 1)
        if self._changes(body, there, loop, chain(given) + chain(node)[len(root) :], call):
            return False
        return self._is_left(given, there, loop, at)

    def _is_left(self, given: ast.expr, key: FunctionKey, loop: Region, at: Position) -> bool:
        """Whether a loop hands the same data set to a function in every turn."""
        body = self.project.body(key.path)
        root = chain(given).partition(".")[0]
        kept = root != "self" or self._is_kept(given, key)
        return kept and body is not None and not _binds(loop, body.reaching(key.index, root, at))

    def _changes(self, body: Body, key: FunctionKey, loop: Region, mask: str, leading: ast.Call | None = None) -> bool:
        """Whether a loop, or a function that it calls, sets a mask or what that is taken from, or may do so.

        :param leading: the call that is given the data and selects by the mask
        """
        if _changes(body, key.index, loop, mask, leading):
            return True
        owner, _, name = mask.rpartition(".")
        return bool(owner) and any(self._writes(called, name) for called in self._called_in(key, loop))

    def _called_in(self, key: FunctionKey, loop: Region) -> Iterator[FunctionKey]:
        """The functions of the project that the calls in a loop run; what is just made holds no mask of before."""
        for call in self.project.index.calls_in(key):
            if loop.start <= (call.line, call.column) <= loop.end:
                for called in self.project.types.targets(key.path, key.index, call.callee):
                    if self.project.index.function(called).name != "__init__":
                        yield called

    def _writes(self, key: FunctionKey, name: str) -> bool:
        """Whether a function binds or writes into an attribute of some name, whatever it is of."""
        if key not in self._written:
            body = self.project.body(key.path)
            statements = body.statements(key.index) if body is not None else ()
            self._written[key] = frozenset(found for statement in statements for found in _set_by(statement))
        return any(found.endswith(f".{name}") for found in self._written[key])


def _parts(node: ast.expr) -> list[ast.expr]:
    """The masks that an expression puts together; none where anything else is in it."""
    if isinstance(node, ast.Name | ast.Attribute) or is_split_mask(node):
        return [node]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        return _parts(node.operand)
    if isinstance(node, ast.BinOp) and isinstance(node.op, _BITS):
        left, right = _parts(node.left), _parts(node.right)
        return [*left, *right] if left and right else []
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGING_FORM:
        return _parts(node.func.value)
    return []


def _binds(loop: Region, found: list[Definition] | None) -> bool:
    """Whether a loop makes one of the bindings of a name, in its head too."""
    return any((loop.head, 0) <= d.at <= loop.end for d in found or ())


def _changes(body: Body, function: int, loop: Region, mask: str, leading: ast.Call | None) -> bool:
    """Whether statements of a loop set a mask or what it is taken from, write into it, or give it away for effect."""
    parts = mask.split(".")
    above = {".".join(parts[:n]) for n in range(1, len(parts) + 1)} - {"self"}
    for statement in body.statements(function):
        if loop.start <= body.at(statement) <= loop.end:
            leads = leading is not None and _is_call(statement, leading)
            given = () if leads else map(chain, given_for_effect(statement))
            if not above.isdisjoint((*given, *_set_by(statement))):
                return True
    return False


def _is_call(statement: ast.stmt, call: ast.Call) -> bool:
    """Whether a statement is one call and nothing else."""
    return isinstance(statement, ast.Expr) and statement.value is call


def _set_by(statement: ast.stmt) -> Iterator[str]:
    """The chains that one statement binds or writes into."""
    if isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign):
        for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
            for part in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
                yield from {chain(part), chain(_without_index(part))}
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and in_place(call.func.attr):
        yield chain(call.func.value)


def _without_index(target: ast.expr) -> ast.expr:
    """`x` of `x[i][0]`: what is written into."""
    while isinstance(target, ast.Subscript):
        target = target.value
    return target
