"""Parameters that every call gives one tensor, and never a list of them: what is given was moved, as no list can be.

    def move(self, batch):                       def errors(found, wanted):
        x, y = batch                                 for f, w in zip(found, wanted):
        y = y.to(self.device)                            count(f.tolist(), w.tolist())
        return x, y

    x, y = self.move(batch)
    errors(self.model(x), y)
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Place, SourceFile
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values.value import Frame

_CALLERS = 8
_HOPS = 4
_MOVES = frozenset({"to", "cuda"})


def is_given_one_tensor(file: SourceFile, place: Place, node: ast.expr) -> bool:
    """Whether an expression is a parameter, bound to nothing else, for which each call passes a tensor it has moved."""
    project, record = file.project, file.outline.functions[place.function]
    body = project.body(file.path)
    if body is None or not isinstance(node, ast.Name) or node.id not in {p.name for p in record.parameters}:
        return False
    if body.definitions(place.function).get(node.id):
        return False
    sites = project.hotness.callers.get(FunctionKey(file.path, place.function), ())
    if not 0 < len(sites) <= _CALLERS:
        return False
    for site in sites:
        call = call_at(project.values, site)
        given = argument_for(call, record, node.id) if call is not None else None
        if given is None or not _is_moved(project, FunctionKey(site.path, site.call.function), given, _HOPS):
            return False
    return True


def _is_moved(project: Project, key: FunctionKey, node: ast.expr, hops: int) -> bool:
    """Whether an expression is what a move of one tensor gives, also through names and a function that returns it."""
    body = project.body(key.path)
    if body is None:
        return False
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MOVES:
        return project.values.of(node, Frame(key.path, key.index, body.at(node))).kind == "tensor"
    if not isinstance(node, ast.Name) or not hops:
        return False
    made = body.reaching(key.index, node.id, body.at(node)) or []
    return bool(made) and all(_is_bound_to_one(project, key, each, hops - 1) for each in made)


def _is_bound_to_one(project: Project, key: FunctionKey, made: Definition, hops: int) -> bool:
    """Whether a name is bound to such a tensor, also by `x, y = f()`."""
    value = made.value
    if made.how == "assign" and value is not None:
        return _is_moved(project, key, value, hops)
    if made.how != "item" or not isinstance(value, ast.Call) or len(made.index) != 1:
        return False
    targets = project.types.targets(key.path, key.index, chain(value.func))
    return len(targets) == 1 and _returns_one(project, targets[0], made.index[0], hops)


def _returns_one(project: Project, key: FunctionKey, position: int, hops: int) -> bool:
    """Whether a function returns such a tensor at a place of its tuples."""
    body = project.body(key.path)
    returned = body.returns(key.index) if body is not None else []
    parts = [each.elts[position : position + 1] for each in returned if isinstance(each, ast.Tuple)]
    if not returned or len(parts) < len(returned):
        return False
    return all(part and _is_moved(project, key, part[0], hops) for part in parts)
