"""Backward passes that keep their graph, `loss.backward(retain_graph=True)`, though nothing goes through it again.

The graph is of one turn, and no gradients are computed after it in the turn: other backward passes of the function
come before it in the same turn, nothing behind it is given the loss, and nothing in front of the loop carries a graph
into it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax.arguments import arguments
from torchperf_lint.facts.syntax.calls_within import calls_in
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import children_of

GRADIENTS = frozenset(
    "backward manual_backward grad vjp jvp jacobian hessian hvp vhp gradgradcheck gradient_penalty closure".split()
)
"""Calls that compute gradients."""
_SECOND = ("create_graph=True", "create_graph = True", "register_hook", "higher.", "torch.func", "functorch")
"""What asks for gradients of gradients, or looks at a graph afterwards."""
_READS = frozenset(
    "item detach cpu tolist float int print str append mean log update numpy isnan isfinite format debug info warning "
    "add_scalar add_scalars set_postfix set_description write".split()
)


def retained_in_vain(file: SourceFile) -> Iterator[Site]:
    """The backward passes of training steps that keep a graph which nothing uses again."""
    if asks_for_more(file):
        return
    for site in file.hot_calls("backward"):
        kept = site.keyword("retain_graph")
        if not isinstance(kept, ast.Constant) or kept.value is not True or site.receiver is None:
            continue
        turn = _turn(site)
        if turn is not None and _is_the_last_one(site, turn) and not _goes_on(site, turn) and not _carried(site, turn):
            yield site


def asks_for_more(file: SourceFile) -> bool:
    """Whether a file asks for gradients of gradients, or looks at graphs, whose passes it is not about here."""
    return file.mentions(_SECOND)


def _turn(site: Site) -> ast.For | ast.While | None:
    """The step loop, where it is the loop right around a backward pass."""
    hot = site.hot
    if hot is None or hot.kind != "step" or hot.loop is None or hot.loop[0] != site.file.path or hot.optional:
        return None
    around = site.file.enclosing(site.function).around(site.call)
    loop = next((node for node in around if isinstance(node, ast.For | ast.While)), None)
    region = site.file.outline.regions[hot.loop[1]]
    if loop is None or region.head != loop.lineno or region.function != site.function:
        return None
    return loop


def _is_the_last_one(site: Site, turn: ast.For | ast.While) -> bool:
    """Whether all else in the function that computes gradients does so in the same turn, before this pass."""
    top = site.file.enclosing(site.function).top
    found = [n for n in ast.walk(top) if isinstance(n, ast.Call) and last_part(chain(n.func)) in GRADIENTS]
    before = {n for n in calls_in(turn) if (n.lineno, n.col_offset) < (site.call.lineno, site.call.col_offset)}
    return all(call is site.call or call in before for call in found)


def _goes_on(site: Site, turn: ast.For | ast.While) -> bool:
    """Whether anything called in the turn computes gradients, or is given what the backward pass ran on."""
    project, file = site.file.project, site.file
    ran_on = {node.id for node in _names(site.receiver)}
    makers = [node for statement in turn.body for node in _made_with(statement, ran_on)]
    names = ran_on | {node.id for node in makers if project.grads.of(node, site.frame) is not None}
    for call in calls_in(turn):
        if call is site.call or last_part(chain(call.func)) in _READS or call.lineno < site.call.lineno:
            continue
        for key in project.types.targets(file.path, site.function, chain(call.func)):
            if project.grads.backwards(key):
                return True
        given = {node.id for argument in arguments(call) for node in _bare(argument)}
        if call.lineno > site.call.lineno and given & names:
            return True
    return False


def _made_with(statement: ast.stmt, names: set[str]) -> Iterator[ast.Name]:
    """The names that an assignment computes one of `names` of: of `loss = a + b` both."""
    if isinstance(statement, ast.Assign) and any(isinstance(t, ast.Name) and t.id in names for t in statement.targets):
        yield from _bare(statement.value)


def _bare(node: ast.expr) -> Iterator[ast.Name]:
    """The names in an expression that are not read out of their graph: not `loss` of `loss.item()`."""
    stack: list[ast.AST] = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, ast.Name):
            yield part
        if not (isinstance(part, ast.Call) and last_part(chain(part.func)) in _READS):
            stack += children_of(part)


def _carried(site: Site, turn: ast.For | ast.While) -> bool:
    """Whether something made before the loop takes a graph into it."""
    file = site.file
    body = file.project.body(file.path)
    if body is None:
        return True
    outer = [node for node in file.enclosing(site.function).around(turn) if isinstance(node, ast.For | ast.While)]
    read = {node.id: node for statement in turn.body for node in _names(statement) if isinstance(node.ctx, ast.Load)}
    for name, node in read.items():
        for definition in body.definitions(site.function).get(name, ()):
            value = definition.value
            if value is None or definition.how not in ("assign", "item") or value.lineno >= turn.lineno:
                continue
            if outer and value.lineno >= outer[-1].lineno and _may_hold_a_graph(site, value):
                return True  # `out = model(x)`, and the turns are over losses
            if file.project.grads.of(node, site.frame._replace(at=(turn.lineno, turn.col_offset + 1))) is not None:
                return True
    return False


def _may_hold_a_graph(site: Site, value: ast.expr) -> bool:
    if isinstance(value, ast.Constant):
        return False
    at = site.file.project.values.of(value, site.frame._replace(at=(value.lineno, value.col_offset + 1)))
    return at.kind not in ("plain", "array")


def _names(node: ast.AST | None) -> Iterator[ast.Name]:
    return (part for part in ast.walk(node) if isinstance(part, ast.Name)) if node is not None else iter(())
