"""Graphs that a function computes anew, differentiates and leaves behind, as the layers of reversible networks do.

with torch.enable_grad():
    x2.requires_grad = True                                       # a leaf: the graph begins here
    fx2 = self.f(x2)
    torch.autograd.backward(fx2, dx1, retain_graph=True)          # and nothing goes through it again
with torch.no_grad():
    x1 = y1 - fx2
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.autograd.retained_graphs import GRADIENTS, asks_for_more
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_true
from torchperf_lint.facts.syntax.syntax import names_of

_KINDS = frozenset({"step", "forward", "update"})


def retained_after_recomputing(file: SourceFile) -> Iterator[Site]:
    """The backward passes through such graphs that keep them."""
    if asks_for_more(file):
        return
    for site in file.hot_calls("backward"):
        through = _through(site)
        trains = site.hot is not None and site.hot.kind in _KINDS
        if not trains or through is None or not is_true(site.keyword("retain_graph")):
            continue
        block = _block(site)
        if block is not None and _is_made_in(site, block, through) and not _is_used_behind(site, block):
            yield site


def _through(site: Site) -> str | None:
    """The name that the pass goes back from: `x` of `x.backward(dx)` and of `torch.autograd.backward(x, dx)`."""
    of_torch = site.file.denotes(site.call.func, site) == "torch.autograd.backward"
    node = next(iter(site.call.args), None) if of_torch else site.receiver
    return node.id if isinstance(node, ast.Name) else None


def _block(site: Site) -> ast.With | None:
    """The `with torch.enable_grad():` that a pass ends."""
    for node in site.file.enclosing(site.function).around(site.call):
        if isinstance(node, ast.For | ast.While | ast.If | ast.Try):
            return None
        if isinstance(node, ast.With):
            return node if _switches(node, "enable_grad") else None
    return None


def _switches(node: ast.With, name: str) -> bool:
    return any(last_part(chain(item.context_expr)).removesuffix("()") == name for item in node.items)


def _is_made_in(site: Site, block: ast.With, through: str) -> bool:
    """Whether a graph begins in a block, at a tensor made a leaf there, and the pass is the last that block does."""
    leaves, graph = set[str](), set[str]()
    for statement in block.body:
        if _holds(statement, site.call):
            return through in graph and not any(map(_differentiates, block.body[block.body.index(statement) + 1 :]))
        leaves |= _made_leaves(statement)
        if isinstance(statement, ast.Assign) and names_of(statement.value) & (leaves | graph):
            graph |= names_of(*statement.targets)
    return False


def _holds(statement: ast.stmt, call: ast.Call) -> bool:
    return any(node is call for node in ast.walk(statement))


def _differentiates(statement: ast.stmt) -> bool:
    return any(isinstance(n, ast.Call) and last_part(chain(n.func)) in GRADIENTS for n in ast.walk(statement))


def _made_leaves(statement: ast.stmt) -> set[str]:
    """`x` of `x.requires_grad = True` and `x.requires_grad_()`, which torch allows for leaves only."""
    if isinstance(statement, ast.Assign) and is_true(statement.value):
        targets = [t for t in statement.targets if isinstance(t, ast.Attribute) and t.attr == "requires_grad"]
        return {t.value.id for t in targets if isinstance(t.value, ast.Name)}
    value = getattr(statement, "value", None)
    if not isinstance(value, ast.Call) or last_part(chain(value.func)) != "requires_grad_":
        return set()
    if isinstance(statement, ast.Assign):
        return names_of(*statement.targets)
    return names_of(value.func)


def _is_used_behind(site: Site, block: ast.With) -> bool:
    """Whether something that the block computed is read behind it where gradients are recorded, or given back."""
    bound = [t for statement in block.body if isinstance(statement, ast.Assign) for t in statement.targets]
    leaves = {name for statement in block.body for name in _made_leaves(statement)}
    made = {target.id for target in bound if isinstance(target, ast.Name)} - leaves
    top = site.file.enclosing(site.function)
    end = (block.end_lineno or block.lineno, 0)
    for node in top.of_kinds((ast.Name,)):
        assert isinstance(node, ast.Name)
        if node.id not in made or not isinstance(node.ctx, ast.Load) or (node.lineno, 0) <= end:
            continue
        around = [one for one in top.around(node) if isinstance(one, ast.With)]
        if not any(_switches(one, "no_grad") for one in around):
            return True
    return False
