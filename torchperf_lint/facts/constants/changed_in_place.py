"""Names whose tensors are changed where they are, so that what they were made of cannot be shared or kept."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.outlines.complaints import only_says
from torchperf_lint.facts.syntax.chains import chain, last_part


def changed_in_place(site: Site) -> bool:
    """Whether a call makes what a name holds, and the function changes that: `q.mul_(x)`, `q += x`, `q[0] = x`.

    What it has changed before was another tensor, but for the next turn of a loop.
    """
    around = site.file.enclosing(site.function)
    assignment = around.statement(site.call)
    if not isinstance(assignment, ast.Assign) or len(assignment.targets) != 1 or _goes_into_another(site):
        return False
    loops = (node for node in around.around(assignment) if isinstance(node, ast.For | ast.While))
    first = min((loop.lineno for loop in loops), default=assignment.lineno)
    name = assignment.targets[0].id if isinstance(assignment.targets[0], ast.Name) else None
    changes = (node for part in around.parents for node in changed(part) if node.lineno >= first)
    return name is not None and any(base_of(node) == name for node in changes)


_SAME = frozenset(
    "to cuda view reshape flatten detach squeeze unsqueeze expand expand_as t transpose permute type requires_grad_ "
    "float half double long int bool contiguous".split()
)
"""Methods that give the same memory, or may."""
_WRAPS = frozenset({"Variable", "Parameter"})


def _goes_into_another(site: Site) -> bool:
    """Whether something new is computed of what a call makes, in the same statement: `scale = 0.1 * two.cuda()`."""
    parents = site.file.enclosing(site.function).parents
    node: ast.AST = site.call
    while isinstance(parent := parents.get(node), ast.expr):
        if isinstance(parent, ast.Call) and parent.func is not node and last_part(chain(parent.func)) not in _WRAPS:
            return True
        if isinstance(parent, ast.Attribute) and isinstance(parents.get(parent), ast.Call) and parent.attr not in _SAME:
            return True
        if isinstance(parent, ast.BinOp | ast.UnaryOp | ast.Compare):
            return True
        node = parent
    return False


def changed(node: ast.AST) -> Iterator[ast.expr]:
    """What a node changes in place: `x[i] = y`, `x.y = z`, `x += y`, `x.add_(y)`, `torch.add(y, z, out=x)`."""
    if isinstance(node, ast.AugAssign):
        yield node.target
    elif isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
        yield node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_"):
        yield node.func.value
    elif isinstance(node, ast.Call):
        yield from (keyword.value for keyword in node.keywords if keyword.arg == "out")


def given_for_effect(node: ast.AST) -> Iterator[ast.expr]:
    """What a statement gives to a call whose result nobody takes, which may write into it: `ops.count(x, out)`.

    In a list, too, `all_reduce_coalesced([x])`; of what only tells, or collects what it is given, nothing.
    """
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(node, ast.Expr) or not isinstance(call, ast.Call) or only_says(node):
        return
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in _COLLECTS:
        for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
            yield from argument.elts if isinstance(argument, ast.List | ast.Tuple) else (argument,)


_COLLECTS = frozenset({"append", "extend", "add", "update"})
"""Methods of lists, sets and meters."""


def base_of(node: ast.expr | None) -> str | None:
    """The name that attributes and elements are taken of: `x` of `x.grad[0]`; None for what begins with no name."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
