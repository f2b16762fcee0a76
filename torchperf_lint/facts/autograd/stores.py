"""Statements that put something where it may outlive the turn of a loop: sums, lists, entries, meters."""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.effects import names_in
from torchperf_lint.facts.files.spots import Spot
from torchperf_lint.facts.models.levels_in_steps import goes_over_levels
from torchperf_lint.facts.optimizers.running_averages import averages
from torchperf_lint.facts.outlines.records import Position, Region
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.expressions_written import as_written
from torchperf_lint.model import Confidence

_KEEPERS = frozenset({"append", "add", "appendleft", "extend"})
_EMPTYING = frozenset({"clear", "pop", "popleft", "reset"})


class Store(NamedTuple):
    """A statement that puts something somewhere."""

    statement: ast.stmt
    target: ast.expr
    """What it is put into, or added to."""
    value: ast.expr
    how: str
    """sum (`total += loss`), store (`losses.append(loss)`, `history[k] = loss`) or call (`meter.update(loss)`)."""


def store_of(statement: ast.stmt) -> Store | None:
    """What a statement stores or adds up, by its form alone."""
    if isinstance(statement, ast.AugAssign):
        value = statement.value
        if not isinstance(statement.op, ast.Add) or isinstance(value, ast.Constant):
            return None
        if isinstance(value, ast.List) and len(value.elts) == 1:
            return Store(statement, statement.target, value.elts[0], "store")
        return Store(statement, statement.target, value, "sum")
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        added = _added_to(target, statement.value)
        if added is not None:
            return Store(statement, target, added, "sum")
        return Store(statement, target, statement.value, "store") if isinstance(target, ast.Subscript) else None
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if isinstance(call.func, ast.Attribute) and call.args and not isinstance(call.args[0], ast.Constant):
            kept = call.func.attr in _KEEPERS and len(call.args) == 1
            return Store(statement, call.func.value, call.args[0], "store" if kept else "call")
    return None


def _added_to(target: ast.expr, value: ast.expr) -> ast.expr | None:
    """The other side of `total = total + x`, of `d[k] = d.get(k, 0) + x` and of `mean = 0.9 * mean + 0.1 * x`."""
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
        return None
    for old, new in ((value.left, value.right), (value.right, value.left)):
        if as_written(old) == as_written(target) or _is_entry(old, target) or averages(target, old, new):
            return new
    return None


def _is_entry(node: ast.expr, target: ast.expr) -> bool:
    """`d.get(k, 0)` for `d[k]`."""
    if not isinstance(target, ast.Subscript) or not isinstance(node, ast.Call) or not node.args:
        return False
    written = f"{ast.unparse(target.value)}.get"
    return ast.unparse(node.func) == written and ast.unparse(node.args[0]) == ast.unparse(target.slice)


def root_of(target: ast.expr) -> tuple[str, str]:
    """The name at the head of a target, and for `self.x...` the attribute; empty where there is none."""
    own = ""
    while not isinstance(target, ast.Name):
        if isinstance(target, ast.Call):
            target = target.func  # `totals.setdefault(k, []).append(x)`
        elif isinstance(target, ast.Attribute | ast.Subscript):
            own = target.attr if isinstance(target, ast.Attribute) else own
            target = target.value
        else:
            return "", ""
    return target.id, own


def own_loop(spot: Spot) -> Region | None:
    """The hot loop around a spot, where it is in the same function."""
    loop = spot.hot.loop
    if loop is None or loop[0] != spot.file.path:
        return None
    region = spot.file.outline.regions[loop[1]]
    return region if region.function == spot.function else None


def outlives(spot: Spot, store: Store, body: Body) -> Confidence | None:
    """How sure it is that a store piles up from turn to turn; None where the target is made anew or overwritten.

    `possible` where the loop empties the target now and then, or it holds a bounded number.
    """
    root, own = root_of(store.target)
    region = own_loop(spot)
    if not root or (store.how == "store" and _overwrites(spot, store, body, region)):
        return None
    function = spot.file.outline.functions[spot.function]
    names = [parameter.name for parameter in function.parameters]
    if own and function.class_index >= 0 and names[:1] == [root]:
        return _attribute_outlives(spot, store, f"{root}.{own}", body)
    definitions = [d for d in body.definitions(spot.function).get(root, ()) if d.within is None]
    if region is None:
        # Called once a step: what it was handed may outlive the call, its own names do not.
        handed = root in names and not definitions and isinstance(store.statement, ast.Expr)
        return Confidence.LIKELY if handed and spot.hot.kind == "step" else None
    return _name_outlives(spot, store, definitions, region, root in names)


def _name_outlives(
    spot: Spot, store: Store, definitions: list[Definition], region: Region, is_parameter: bool
) -> Confidence | None:
    root, _ = root_of(store.target)
    loop = (region.head, "loop")
    inside = [d for d in definitions if loop in d.block and d.how != "augmented" and not _reads(d.value, root)]
    before = [d for d in definitions if loop not in d.block]
    if any(d.block[-1] == loop or d.how == "loop" for d in inside) or (inside and not before and not is_parameter):
        return None
    if before and not inside and all(_each_step(spot, d.at) for d in before):
        return None
    made_in_a_loop = all(any(kind == "loop" for _, kind in d.block) for d in before)
    around = spot.file.enclosing(spot.function)
    if before and not inside and made_in_a_loop and goes_over_levels(around, store.statement, region.head):
        return None
    bounded = any(_is_bounded(d.value) for d in before)
    return Confidence.POSSIBLE if inside or bounded or _is_emptied(spot, store, region) else Confidence.CERTAIN


def _attribute_outlives(spot: Spot, store: Store, written: str, body: Body) -> Confidence | None:
    """`self.losses`: the object outlives the step, unless the same code sets the attribute anew in each."""
    region = own_loop(spot)
    for statement in spot.file.enclosing(spot.function).parents:
        if not isinstance(statement, ast.Assign) or statement is store.statement:
            continue
        if not any(chain(t) == written for t in _targets(statement)) or _reads(statement.value, written):
            continue
        if region is not None and body.at(statement) < region.start and _each_step(spot, body.at(statement)):
            return None
        if region is None or region.start <= body.at(statement) < region.end:
            return None if _in_every_turn(spot, statement, body, region) else Confidence.POSSIBLE
    return Confidence.POSSIBLE if _is_emptied(spot, store, region) else Confidence.LIKELY


def _targets(statement: ast.Assign) -> list[ast.expr]:
    """What an assignment binds, one by one: `self.a, self.b = [], []`."""
    return [e for t in statement.targets for e in (t.elts if isinstance(t, ast.Tuple) else [t])]


def _each_step(spot: Spot, at: Position) -> bool:
    """Whether a place runs in every step: what is made there lives for a step, whatever loop over its parts follows."""
    hot = spot.file.project.hotness.at(spot.file.path, at)
    return hot is not None and hot.kind == "step" and not hot.optional


def _in_every_turn(spot: Spot, statement: ast.stmt, body: Body, region: Region | None) -> bool:
    around = body.block_of(spot.function, body.at(statement))
    return not around if region is None else around[-1:] == ((region.head, "loop"),)


def _overwrites(spot: Spot, store: Store, body: Body, region: Region | None) -> bool:
    """`losses["total"] = loss` replaces the last one: a key that does not change from turn to turn."""
    if not isinstance(store.statement, ast.Assign) or not isinstance(store.target, ast.Subscript):
        return False
    for name in names_in(store.target.slice):
        definitions = body.definitions(spot.function).get(name, ())
        if region is not None and any(
            (region.head, "loop") in d.block and not _by_inner_loop(d, region) for d in definitions
        ):
            return False
        if "step" in name or "idx" in name or "iter" in name:
            return False
    return True


def _by_inner_loop(d: Definition, region: Region) -> bool:
    """The keys that a loop further in goes through are the same in each turn."""
    return d.how == "loop" and d.block[-1] != (region.head, "loop")


def _reads(node: ast.expr | None, name: str) -> bool:
    return node is not None and name in names_in(node)


def _is_bounded(node: ast.expr | None) -> bool:
    """`deque(maxlen=100)` keeps the last few only."""
    return isinstance(node, ast.Call) and any(k.arg == "maxlen" for k in node.keywords)


def _is_emptied(spot: Spot, store: Store, region: Region | None) -> bool:
    """Whether the loop, or the function that is called in it, empties a container now and then."""
    root, own = root_of(store.target)
    written = f"{root}.{own}" if own else root
    for node in spot.file.enclosing(spot.function).parents:
        line = getattr(node, "lineno", 0)
        here = region is None or region.start[0] <= line <= region.end[0]
        if here and any(chain(emptied).startswith(written) for emptied in _emptied(node)):
            return True
    return False


def _emptied(node: ast.AST) -> list[ast.expr]:
    """What `x.clear()`, `del x[:]` and `x[:] = []` empty."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _EMPTYING:
        return [node.func.value]
    if isinstance(node, ast.Assign):
        return [t for t in node.targets if isinstance(t, ast.Subscript) and isinstance(t.slice, ast.Slice)]
    return node.targets if isinstance(node, ast.Delete) else []
