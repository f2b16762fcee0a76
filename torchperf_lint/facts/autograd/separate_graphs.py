"""Backward passes that keep their graph for others of the same turn, which go through graphs of their own.

    self.loss_g.backward(retain_graph=True)            d_loss.backward(retain_graph=True)
    ...                                                g_optimizer.zero_grad()
    self.pred = self.critic(self.fake.detach())        g_loss = criterion(critic(generator(z)))
    self.loss_d.backward()                             g_loss.backward()

The networks may be the same: what a pass gives back is what its own forward passes kept.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from torchperf_lint.facts.autograd.graph_flow import GraphFlow, NotUnderstoodError
from torchperf_lint.facts.autograd.retained_graphs import asks_for_more, retained_in_vain
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_true
from torchperf_lint.facts.values.value import Frame

_HOPS = 3
"""Methods between the backward pass and the one that does the whole turn."""
_MAY_CARRY = frozenset({"tensor", "sequence", "unknown"})
"""Kinds of values that may carry a graph into a turn."""
_LOOPS = (ast.For, ast.While, ast.AsyncFor)


def retained_for_others(file: SourceFile, told: Collection[ast.Call] = ()) -> Iterator[Site]:
    """The backward passes of a file's training steps that keep a graph which no other pass of the step goes through.

    Those that are told of already are left out.
    """
    if asks_for_more(file):
        return
    told = {*told, *(site.call for site in retained_in_vain(file))}
    for site in file.hot_calls("backward"):
        asked = is_true(site.keyword("retain_graph")) and site.receiver is not None and site.call not in told
        if asked and site.hot is not None and site.hot.kind == "step" and not site.hot.optional and _is_alone(site):
            yield site


def _is_alone(site: Site) -> bool:
    """Whether the graph of a pass lies behind no later one, and none comes into the turn or leaves it."""
    turn = _turn(site)
    if turn is None:
        return False
    function, statements = turn
    flow = GraphFlow(_methods(site, function), lambda call: _computes_gradients(site, function, call))
    try:
        flow.run(statements)
    except NotUnderstoodError:
        return False
    places = [number for number, one in enumerate(flow.passes) if one.call is site.call]
    later = flow.passes[places[0] + 1 :] if len(places) == 1 else []
    nodes = flow.passes[places[0]].nodes if later else None
    if not nodes or not flow.made(nodes) or flow.carried_on() or any(flow.shared(nodes, one.nodes) for one in later):
        return False
    if not _is_in_loop(site) and any(
        _may_be_given(site, n) for one in later for n in flow.found_behind(nodes, one.nodes)
    ):
        return False
    return not any(_has_a_graph(site, node) for node in flow.found_first.values())


def _turn(site: Site) -> tuple[int, list[ast.stmt]] | None:
    """The function that does a whole turn, and its statements: the loop around, or the method that calls the others."""
    around = site.file.enclosing(site.function)
    loop = next((node for node in around.around(site.call) if isinstance(node, _LOOPS)), None)
    if loop is not None:
        return (site.function, loop.body) if _is_own(site, loop) else None
    function = _whole(site)
    body = site.file.project.body(site.file.path)
    node = body.functions.get(function) if body is not None else None
    return (function, node.body) if isinstance(node, ast.FunctionDef) else None


def _is_own(site: Site, loop: ast.AST) -> bool:
    """Whether a loop is the one that says how often the pass runs."""
    hot = site.hot
    if hot is None or hot.loop is None or hot.loop[0] != site.file.path:
        return False
    region = site.file.outline.regions[hot.loop[1]]
    return region.function == site.function and region.head == getattr(loop, "lineno", 0)


def _whole(site: Site) -> int:
    """The method that calls the one with the pass, `self.backward_g()`, in no loop; its caller in turn."""
    file, function = site.file, site.function
    for _ in range(_HOPS):
        record = file.outline.functions[function]
        callers = file.project.hotness.callers.get(FunctionKey(file.path, function), ())
        if record.class_index < 0 or len(callers) != 1 or callers[0].path != file.path:
            return function
        call = callers[0].call
        caller = file.outline.functions[call.function]
        looped = any(kind == "loop" for kind in file.project.hotness.around.kinds(file.path, call.region))
        if caller.class_index != record.class_index or call.callee != f"self.{record.name}" or looped:
            return function
        function = call.function
    return function


def _methods(site: Site, function: int) -> dict[str, ast.FunctionDef]:
    """The methods of the class that a function belongs to, by name."""
    outline, body = site.file.outline, site.file.project.body(site.file.path)
    number = outline.functions[function].class_index
    if number < 0 or body is None:
        return {}
    nodes = ((name, body.functions.get(index)) for name, index in outline.classes[number].methods.items())
    return {name: node for name, node in nodes if isinstance(node, ast.FunctionDef)}


def _computes_gradients(site: Site, function: int, call: ast.Call) -> bool:
    """Whether a call that is not followed runs a function of the project that computes gradients."""
    project = site.file.project
    if last_part(chain(call.func)) in ("step", "zero_grad"):
        return False
    targets = project.types.targets(site.file.path, function, chain(call.func))
    return any(project.grads.backwards(key) for key in targets)


def _is_in_loop(site: Site) -> bool:
    return any(isinstance(node, _LOOPS) for node in site.file.enclosing(site.function).around(site.call))


def _may_be_given(site: Site, node: ast.expr) -> bool:
    """Whether who calls for a turn may have put into it what carries a graph: `self.loss_per_sample`."""
    return site.file.project.values.of(node, _frame(site, node)).kind in _MAY_CARRY


def _frame(site: Site, node: ast.expr) -> Frame:
    at = site.file.start(node)
    region = site.file.outline.regions[site.file.project.hotness.innermost(site.file.path, at)]
    return Frame(site.file.path, region.function, at)


def _has_a_graph(site: Site, node: ast.expr) -> bool:
    """Whether what the turn finds when it begins may carry a graph."""
    return site.file.project.grads.of(node, _frame(site, node)) is not None
