"""Parts of one flat tensor that a loop copies back into the tensors they were joined of, every step.

    flat = _flatten_dense_tensors(grads)
    dist.all_reduce(flat)
    for g, part in zip(grads, _unflatten_dense_tensors(flat, grads)):
        g.copy_(part)

The parts are views: one call, `torch._foreach_copy_(grads, parts)`, copies them all.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import Spot, hot_nodes
from torchperf_lint.facts.optimizers.foreach_forms import statements_of
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import names_of

MENTIONED = ("unflatten_dense_tensors(",)
_PARTS = frozenset({"_unflatten_dense_tensors", "unflatten_dense_tensors"})
_KINDS = frozenset({"step", "update"})
_SAME = frozenset({"data", "grad"})
"""What a turn may take of the tensor that it copies into."""


def copied_from_flat(file: SourceFile) -> Iterator[Spot]:
    """The loops whose turns copy one part of a flat tensor each, where every step runs them."""
    if "_foreach_copy_" in file.text or not file.mentions(MENTIONED):
        return  # whoever knows the form has another way beside this one
    body = file.project.body(file.path)
    for spot in hot_nodes(file, ast.For):
        loop = spot.expression
        assert isinstance(loop, ast.For)
        if body is None or spot.hot.kind not in _KINDS:
            continue
        parts = parts_of_flat(body, spot.function, loop)
        if parts and _only_copies(loop, parts):
            yield spot


def parts_of_flat(body: Body, function: int, loop: ast.For) -> set[str]:
    """The variables of a loop that are parts of a flat tensor: `p` of `zip(grads, _unflatten_dense_tensors(...))`."""
    over, target = loop.iter, loop.target
    if not isinstance(over, ast.Call) or chain(over.func) != "zip" or not isinstance(target, ast.Tuple | ast.List):
        return set()
    pairs = zip(target.elts, over.args, strict=False)
    return {one.id for one, given in pairs if isinstance(one, ast.Name) and _is_unflattened(body, function, given)}


def _is_unflattened(body: Body, function: int, node: ast.expr) -> bool:
    made = body.assigned_once(function, node.id, body.at(node)) if isinstance(node, ast.Name) else node
    return isinstance(made, ast.Call) and last_part(chain(made.func)) in _PARTS


def _only_copies(loop: ast.For, parts: set[str]) -> bool:
    """Whether all that a turn does is to copy a part into another variable of the loop."""
    others = names_of(loop.target) - parts
    done = [statement for statement in statements_of(loop) if not isinstance(statement, ast.Pass | ast.Continue)]
    return bool(done) and all(_is_copy(statement, parts, others) for statement in done)


def _is_copy(statement: ast.stmt, parts: set[str], others: set[str]) -> bool:
    """`p.copy_(part)`, `p.grad.data.copy_(part)`."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "copy_":
        return False
    into = chain(call.func.value).split(".")
    given = isinstance(call.args[0], ast.Name) and call.args[0].id in parts if call.args else False
    return given and into[0] in others and set(into[1:]) <= _SAME
