"""Reads in a function that a loop calls with one row of a tensor after the other: one read would do for all rows.

def to_list(t):                                for i, index in enumerate(indices):
    return t.detach().cpu().tolist()               rows = [to_list(output[i]) for output in outputs]
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for
from torchperf_lint.facts.constants.tracing import Loop, bound_by, changed_in, parts_of
from torchperf_lint.facts.element_loops.repeated import Repeated, handles_data
from torchperf_lint.facts.element_loops.turns import HANDFUL
from torchperf_lint.facts.files.source import Place, Site, SourceFile
from torchperf_lint.facts.hotness.loop import FEW_TURNS
from torchperf_lint.facts.outlines.guards import literal_turns
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import first_part, names_of
from torchperf_lint.facts.values.value import Value
from torchperf_lint.model import Confidence

_HOPS = 4
_CALLERS = 4
_DRAWS = frozenset("normal rand randn sample uniform_ exponential_".split())
_COUNTS = frozenset({"range", "enumerate", "trange"})
_OF_THE_HOST = frozenset({"len", "min", "max", "sum", "int", "range"})


def row_by_row(file: SourceFile, place: Place, read: ast.expr, value: Value) -> Repeated | None:
    """What a loop of a caller hands over row by row to the function that reads it; None for other reads."""
    if place.function <= 0 or value.confidence is Confidence.POSSIBLE or handles_data(file, place.function):
        return None
    if any(True for _ in file.enclosing(place.function).loops(place.expression)):
        return None
    name = _given(file, place, read, _HOPS)
    if name is None:
        return None
    record = file.outline.functions[place.function]
    sites = file.project.hotness.callers.get(FunctionKey(file.path, place.function), ())
    for caller in file.calls_among(site.call for site in sites[:_CALLERS] if site.path == file.path):
        argument = argument_for(caller.call, record, name)
        found = _row_of_a_loop(file, caller, argument) if argument is not None and caller.hot is not None else None
        if found is not None:
            return Repeated(found[0], True, value.weaker(Confidence.LIKELY), found[1], True)
    return None


def _given(file: SourceFile, place: Place, node: ast.expr, hops: int) -> str | None:
    """The one parameter whose tensor an expression is made of by nothing but functions of torch."""
    if not all(_only_looks(file, place, call) for call in ast.walk(node) if isinstance(call, ast.Call)):
        return None
    body = file.project.body(file.path)
    found: set[str | None] = set()
    for name in (n for n in ast.walk(node) if isinstance(n, ast.Name)):
        if file.value(name, place).kind != "tensor" or body is None:
            continue
        reaching = body.reaching(place.function, name.id, file.span(name)[0])
        if not reaching:
            found.add(name.id)
        elif len(reaching) == 1 and reaching[0].how in ("assign", "item") and reaching[0].value is not None and hops:
            found.add(_given(file, place, reaching[0].value, hops - 1))
        else:
            return None
    only = found.pop() if len(found) == 1 else None
    return only if any(p.name == only for p in file.outline.functions[place.function].parameters) else None


def _only_looks(file: SourceFile, place: Place, call: ast.Call) -> bool:
    name = last_part(chain(call.func))
    if name in _DRAWS or (name.endswith("_") and not name.endswith("__")):
        return False
    if (file.denotes(call.func, place) or "").startswith("torch."):
        return True
    return isinstance(call.func, ast.Attribute) and file.value(call.func.value, place).kind == "tensor"


def _row_of_a_loop(file: SourceFile, caller: Site, argument: ast.expr) -> tuple[ast.expr, Loop] | None:
    """(the tensor, the loop) of a call that gets another part of it in each turn."""
    for loop in file.enclosing(caller.function).loops(caller.call):
        turns = literal_turns(loop.iter)
        names = (n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name))
        if (turns is not None and turns <= FEW_TURNS) or any(map(HANDFUL.search, names)):
            continue
        whole = _taken_from(file, caller, loop, argument)
        if whole is not None and not changed_in(file, caller.function, loop, whole):
            return whole, loop
    return None


def _taken_from(file: SourceFile, caller: Site, loop: Loop, argument: ast.expr) -> ast.expr | None:
    body = file.project.body(file.path)
    node, own = argument, False
    for _ in range(_HOPS):
        while isinstance(node, ast.Subscript):
            own = own or _moves_on(file, caller, loop, node.slice)
            node = node.value
        if not isinstance(node, ast.Name) or body is None:
            return None
        bound = bound_by(file, caller.function, loop)
        walked = next((part for target, part in parts_of(loop.target, loop.iter) if target == node.id), None)
        if walked is not None:
            return walked if _is_tensor(file, caller, walked) else None
        found = body.reaching(caller.function, node.id, file.span(node)[0]) or ()
        if node.id not in bound and not (found and found[0].how == "loop" and found[0].within):
            return node if own and _is_tensor(file, caller, node) else None
        if len(found) != 1:
            return None
        if found[0].how == "loop":  # of a comprehension in the loop: one tensor of several, each with a row a turn
            return found[0].value if own else None
        made = _bound_to(found[0])
        if made is None:
            return None
        node = made
    return None


def _bound_to(definition: Definition) -> ast.expr | None:
    """What a name is bound to, also by `a, b = x, y`."""
    value = definition.value
    if definition.how == "item" and isinstance(value, ast.Tuple) and len(definition.index) == 1:
        return value.elts[definition.index[0]] if definition.index[0] < len(value.elts) else None
    return value if definition.how == "assign" else None


def _is_tensor(file: SourceFile, caller: Site, node: ast.expr) -> bool:
    value = file.value(node, caller)
    return value.kind == "tensor" and value.on_device


def _moves_on(file: SourceFile, caller: Site, loop: Loop, index: ast.expr) -> bool:
    """Whether an index is another one in each turn, and the host knows all of them without reading anything."""
    names = names_of(index) & bound_by(file, caller.function, loop)
    return bool(names) and all(_is_position(file, caller, loop, name, _HOPS) for name in sorted(names))


def _is_position(file: SourceFile, caller: Site, loop: Loop, name: str, hops: int) -> bool:
    counted = isinstance(loop.iter, ast.Call) and last_part(chain(loop.iter.func)) in _COUNTS
    first = first_part(loop.target)
    if counted and isinstance(first, ast.Name) and first.id == name:
        return True
    body = file.project.body(file.path)
    made = body.definitions(caller.function).get(name, []) if body is not None else []
    if not made or not hops or any(d.how not in ("assign", "augmented") or d.value is None for d in made):
        return False
    return all(_is_counted_up(file, caller, loop, d.value, name, hops - 1) for d in made if d.value is not None)


def _is_counted_up(file: SourceFile, caller: Site, loop: Loop, node: ast.expr, own: str, hops: int) -> bool:
    calls = [call for call in ast.walk(node) if isinstance(call, ast.Call)]
    if any(chain(call.func) not in _OF_THE_HOST for call in calls):
        return False
    if any(
        isinstance(n, ast.Subscript | ast.Attribute) and file.value(n, caller).kind == "tensor" for n in ast.walk(node)
    ):
        return False
    inside = {id(n) for call in calls for n in ast.walk(call)}
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and id(n) not in inside} - {own}
    mine = names & bound_by(file, caller.function, loop)
    return all(_is_position(file, caller, loop, name, hops) for name in sorted(mine - _in_tests(node)))


def _in_tests(node: ast.expr) -> set[str]:
    """The names that only choose: `1 if i < n else len(ids)`."""
    tests = (part.test for part in ast.walk(node) if isinstance(part, ast.IfExp))
    return names_of(*tests)
