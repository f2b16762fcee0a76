"""Whether the graph of a model's pass outlives its function, or is used by another: then somebody else may train on it.

    def run_epoch(model, loader, optimizer, accumulate):
        total = 0
        for x in loader:
            loss = model(x).sum()
            total = total + loss                 # with its graph; `total += loss.item()` has none
            if not accumulate:
                loss.backward()
        return total
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.hotness.options_asked_for import Given, ways_around
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.patterns import pattern

_DEPTH = 3
_CUTS = frozenset(
    "item detach tolist numpy argmax argsort eq ne gt lt ge le size numel dim len str bool int print format".split()
)
"""What is called on, or with, a tensor and gives something without its graph; `float(loss)` too, not `loss.float()`."""
_GATHER = frozenset({"sum", "list", "tuple", "dict", "zip", "enumerate"})
_NO_GRAPH = frozenset({"data", "shape", "device", "dtype"})
_KEEPS = frozenset({"append", "extend", "insert", "add"})
_PLAIN = pattern(r"[A-Za-z_][\w.]*$")
_STEPS = pattern(r"scaler$|optim\w*\.step$")
"""`loss_scaler(loss, optimizer)` runs the backward pass itself."""


def gives_graph(file: SourceFile, site: Site) -> bool:
    """Whether a function returns, yields or keeps in `self` a model's output or the loss, with the graph.

    Of what functions make of the loss all may have it; of what they make of the output only what torch does: the rest
    are measures, `accuracy(output, target)`.
    """
    body = file.project.body(file.path)
    if body is None:
        return True
    losses = set(body.backward_operands(site.function))
    return _goes_out(body, site.function, losses, "") or _goes_out(body, site.function, set(), chain(site.call.func))


def _goes_out(body: Body, function: int, carrying: set[str], model: str) -> bool:
    """Whether what some names hold, or what a model gives, leaves a function."""
    statements = body.statements(function)
    known = -1
    while known < len(carrying):
        known = len(carrying)
        for statement in statements:
            carrying.update(name for name in _named_by(statement, carrying, model) if _PLAIN.match(name))
    out = [*body.returns(function), *(value for value, _ in body.yields(function))]
    return any(name.startswith("self.") for name in carrying) or any(_carries(one, carrying, model) for one in out)


def _named_by(statement: ast.stmt, carrying: set[str], model: str) -> Iterator[str]:
    """The names, and attributes of `self`, that a statement gives what carries a graph, or a part of it."""
    if isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign) and statement.value is not None:
        if _carries(statement.value, carrying, model):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
                yield from (_base(part) for part in parts)
    elif isinstance(statement, ast.For | ast.AsyncFor) and _carries(statement.iter, carrying, model):
        yield from (n.id for n in ast.walk(statement.target) if isinstance(n, ast.Name))
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if isinstance(call.func, ast.Attribute) and call.func.attr in _KEEPS:
            yield from [_base(call.func.value)] if any(_carries(a, carrying, model) for a in call.args) else []


def _base(node: ast.expr) -> str:
    """The name that holds what an element is stored in: `self.losses` of `self.losses[k]["x"]`."""
    while isinstance(node, ast.Subscript | ast.Starred):
        node = node.value
    return chain(node)


def _carries(node: ast.AST, carrying: set[str], model: str) -> bool:
    """Whether an expression may have the graph of the model's output, or of a name that has it."""
    if isinstance(node, ast.Compare) or (isinstance(node, ast.Attribute) and node.attr in _NO_GRAPH):
        return False
    if isinstance(node, ast.Call):
        if model and chain(node.func) == model:
            return True
        if last_part(chain(node.func)) in _CUTS or chain(node.func) == "float":
            return False
        if model and not chain(node.func).startswith(("torch.", "F.")) and chain(node.func) not in _GATHER:
            return _carries(node.func, carrying, model)
    if isinstance(node, ast.Name | ast.Attribute) and chain(node) in carrying:
        return True
    return any(_carries(child, carrying, model) for child in ast.iter_child_nodes(node))


def trains_elsewhere(project: Project, key: FunctionKey, given: Given, backward: list[Call]) -> bool:
    """Whether a function, called in some mode, may run a backward pass that is none of some of its own."""
    for call in project.index.calls_in(key):
        if call in backward:
            continue
        steps = _STEPS.search(call.callee) is not None
        targets = () if steps else project.types.targets(key.path, key.index, call.callee)
        if steps or any(_runs_backward(project, target, _DEPTH) for target in targets if target != key):
            ways = ways_around(project.index, key.path, call.region)
            if not any(given.never_takes(key, way, line) for way, line in ways):
                return True
    return False


def _runs_backward(project: Project, key: FunctionKey, depth: int) -> bool:
    calls = project.index.calls_in(key)
    if any(last_part(call.callee) == "backward" for call in calls):
        return True
    targets = (t for c in calls if depth > 1 for t in project.types.targets(key.path, key.index, c.callee))
    return any(_runs_backward(project, target, depth - 1) for target in targets if target != key)
