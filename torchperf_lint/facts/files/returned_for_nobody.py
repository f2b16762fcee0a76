"""Functions that compute nothing but what they return, which all their callers drop.

norm = total_norm(parameters)         # in `__call__` of a scaler, which ends in `return norm`
scaler(loss, optimizer)               # and no call of the scaler takes what it gives

Asked only where every file is in sight, and every mention of the function is one of the calls.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import nodes_of

_HOPS = 3
_MANY = 12
_ACTS = (ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal)


def works_for_nobody(project: Project, key: FunctionKey) -> bool:
    """Whether a function has no effect but its result, and nothing reads that."""
    body = project.body(key.path)
    node = body.functions.get(key.index) if body is not None else None
    if not isinstance(node, ast.FunctionDef) or node.decorator_list or not project.index.complete:
        return False
    return not any(_acts(part) for part in nodes_of(node)) and _is_dropped(project, key, _HOPS)


def _acts(node: ast.AST) -> bool:
    """Whether a part of a function may do something that lasts."""
    if isinstance(node, ast.Attribute | ast.Subscript):
        return not isinstance(node.ctx, ast.Load)
    return isinstance(node, _ACTS) or (isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant))


def _is_dropped(project: Project, key: FunctionKey, hops: int) -> bool:
    """Whether all callers, and there are some, leave what a function returns, or hand it on to callers who do."""
    sites = project.hotness.callers.get(key, ())
    if not 0 < len(sites) <= _MANY or hops <= 0 or _is_used_otherwise(project, key, sites):
        return False
    return all(_leaves(project, site, hops) for site in sites)


def _leaves(project: Project, site: CallSite, hops: int) -> bool:
    body = project.body(site.path)
    call = body.node_of(site.call) if body is not None else None
    if body is None or call is None:
        return False
    function = site.call.function
    parents = SourceFile(project, site.path, project.text(site.path)).enclosing(function).parents
    taker = parents.get(call)
    if isinstance(taker, ast.Expr):
        return True
    if not function:
        return False  # what a module binds is read elsewhere
    uses: Sequence[ast.AST | None] = [taker]
    if isinstance(taker, ast.Assign) and len(taker.targets) == 1 and isinstance(taker.targets[0], ast.Name):
        uses = [parents.get(read) for read in body.reads(function, taker.targets[0].id)]
    handed_on = all(isinstance(use, ast.Return) for use in uses)
    return handed_on and (not uses or _is_dropped(project, FunctionKey(site.path, function), hops - 1))


def _is_used_otherwise(project: Project, key: FunctionKey, sites: Sequence[CallSite]) -> bool:
    """Whether something beside the known calls may run a function: a call by its name, or one that hands it on.

    Objects with `__call__` are named in many places; calls of their names in sight are looked at.
    """
    own = project.index.outlines[key.path].functions[key.index].name
    called_itself = own.startswith("__")
    names = {last_part(site.call.callee) for site in sites} if called_itself else {own}
    bodies = {site.path: project.body(site.path) for site in sites}
    known = {id(body.node_of(site.call)) for site in sites if (body := bodies[site.path]) is not None}
    for path in project.index.outlines:
        text = project.text(path)
        if not any(name in text for name in names):
            continue
        body = project.body(path)
        if body is None or any(_mentions(body.functions[0], names, known, called_itself)):
            return True
    return False


def _mentions(tree: ast.AST, names: set[str], known: set[int], only_calls: bool) -> Iterator[bool]:
    """For each mention of one of the names whether it is another than a known call."""
    calls = {id(node.func): id(node) for node in nodes_of(tree) if isinstance(node, ast.Call)}
    for node in nodes_of(tree):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            if last_part(chain(node)) in names and (id(node) in calls or not only_calls):
                yield calls.get(id(node)) not in known
        elif isinstance(node, ast.Constant) and not only_calls:
            yield isinstance(node.value, str) and node.value in names
