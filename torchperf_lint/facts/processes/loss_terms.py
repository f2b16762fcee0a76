"""What a loss is the sum of, and the mappings that hold its terms: they are exchanged in order to be shown.

    losses = sum(loss_dict[k] * weights[k] for k in loss_dict)       the mapping that the criterion gives
    loss = masks + dice                                              its terms,
    told = {"masks": masks, "dice": dice}                            and a mapping that is made of them for a log

Of a quotient only what is above the line is a term: `loss = total / tokens` needs the tokens of all processes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.bindings.effects import backward_target
from torchperf_lint.facts.outlines.anomalies import checks_for_nan
from torchperf_lint.facts.syntax.calls_within import calls_in
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import names_of

_SAME = frozenset("sum mean detach clone float item values items keys".split())
_ENDS = frozenset({"exit", "_exit", "abort"})
_HOPS = 3
"""Assignments that are followed one after another."""
_Stores = ast.Assign | ast.AugAssign | ast.AnnAssign


def terms_of(turn: ast.AST, losses: set[str]) -> set[str]:
    """The names of a turn's losses, of their terms, and of the mappings that hold one of them."""
    stores = [node for node in ast.walk(turn) if isinstance(node, _Stores)]
    found = set(losses)
    for _ in range(_HOPS):
        for store in stores:
            if store.value is not None and _bound(store) & found:
                found |= addends(store.value)
    return found | {name for store in stores for name in _holding(store, found)}


def run_backward(turn: ast.AST) -> set[str]:
    """The names of what a turn adds up where it computes gradients: `sum(losses.values()).backward()`."""
    targets = (backward_target(call) for call in calls_in(turn))
    return {name for target in targets if target is not None for name in addends(target)}


def made_from(turn: ast.AST, names: set[str], line: int) -> set[str]:
    """Some names, and those that a turn computes of them from a line on."""
    found = set(names)
    stores = [node for node in ast.walk(turn) if isinstance(node, _Stores) and node.lineno >= line]
    for _ in range(_HOPS):
        for store in stores:
            if store.value is not None and names_of(store.value) & found:
                found |= _bound(store)
    return found


def bound_before(turn: ast.AST, call: ast.Call) -> set[str]:
    """The names that a turn binds anew above a call, or is given: what becomes of them the next turn does not see."""
    stores = (node for node in ast.walk(turn) if isinstance(node, _Stores) and (node.end_lineno or 0) < call.lineno)
    given = turn.args if isinstance(turn, ast.FunctionDef | ast.AsyncFunctionDef) else None
    parameters = {node.arg for node in ast.walk(given) if isinstance(node, ast.arg)} if given is not None else set()
    return parameters | {name for store in stores for name in _bound(store)}


def only_ends(branch: ast.If | ast.While) -> bool:
    """Whether a branch ends the program, or raises, where a number is not finite: no process need ask the others."""
    if not isinstance(branch, ast.If) or not checks_for_nan(branch.test):
        return False
    last = branch.body[-1]
    if isinstance(last, ast.Raise):
        return True
    call = last.value if isinstance(last, ast.Expr) else None
    return isinstance(call, ast.Call) and last_part(chain(call.func)) in _ENDS


def _bound(store: ast.Assign | ast.AugAssign | ast.AnnAssign) -> set[str]:
    """The plain names that a statement binds; an element that it stores binds none."""
    targets = store.targets if isinstance(store, ast.Assign) else [store.target]
    nodes = (node for target in targets for node in ast.walk(target))
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _holding(store: ast.Assign | ast.AugAssign | ast.AnnAssign, terms: set[str]) -> Iterator[str]:
    """The mapping that a statement makes of a term or puts one into: `told = {"loss": loss}`, `told["loss"] = loss`."""
    if not isinstance(store, ast.Assign) or len(store.targets) != 1:
        return
    target, value = store.targets[0], store.value
    if isinstance(target, ast.Name) and isinstance(value, ast.Dict) and any(addends(v) & terms for v in value.values):
        yield target.id
    if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and addends(value) & terms:
        yield target.value.id


def addends(node: ast.expr) -> set[str]:
    """The names of what is added up in an expression."""
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.Subscript | ast.Starred):
        return addends(node.value)
    if isinstance(node, ast.UnaryOp):
        return addends(node.operand)
    if isinstance(node, ast.BinOp):
        return _of_operation(node)
    if isinstance(node, ast.List | ast.Tuple):
        return {name for element in node.elts for name in addends(element)}
    if isinstance(node, ast.GeneratorExp | ast.ListComp):
        return _of_comprehension(node)
    return _of_call(node) if isinstance(node, ast.Call) else set()


def _of_operation(node: ast.BinOp) -> set[str]:
    if isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
        return addends(node.left) | addends(node.right)
    return addends(node.left) if isinstance(node.op, ast.Div) else set()


def _of_comprehension(node: ast.GeneratorExp | ast.ListComp) -> set[str]:
    """`v for v in losses.values()`, `losses[k] * weights[k] for k in losses`."""
    turned = {name for generator in node.generators for name in names_of(generator.target)}
    gone_through = {name for generator in node.generators for name in addends(generator.iter)}
    return (addends(node.elt) - turned) | gone_through


def _of_call(node: ast.Call) -> set[str]:
    """`sum(...)`, and methods that give as much again: `loss.mean()`, `losses.values()`."""
    if isinstance(node.func, ast.Name) and node.func.id == "sum":
        return addends(node.args[0]) if node.args else set()
    if isinstance(node.func, ast.Attribute) and node.func.attr in _SAME:
        return addends(node.func.value)
    return set()
