"""What an expression in a loop is made of, down to what the loop does not change."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.constants.changed_in_place import base_of, given_for_effect
from torchperf_lint.facts.constants.held import in_place
from torchperf_lint.facts.constants.shared_memory import names_of_views, viewed, without_views
from torchperf_lint.facts.files.source import Place, SourceFile
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import names_of, nodes_of
from torchperf_lint.facts.values.detected_boxes import OF_A_BOX

Loop = ast.For | ast.AsyncFor | ast.comprehension

_WRAPPERS = frozenset({"enumerate", "tqdm", "reversed", "iter", "list", "tuple"})
_SIDE_BY_SIDE = frozenset({"zip", "zip_longest"})
_RANDOM = frozenset("bernoulli multinomial normal uniform exponential".split())
_TRAINS = frozenset("step backward manual_backward zero_grad".split())
_MAX_HOPS = 4


class Step(NamedTuple):
    """One stage of a read: `x[i].sum()` is `x[i]`, and that is a part of `x`."""

    node: ast.expr
    same: bool
    """Whether nothing on the way so far is bound by the loop."""


def traced(file: SourceFile, place: Place, node: ast.expr, loop: Loop) -> list[Step]:
    """A read and what it is taken from, methods and subscripts off one by one, through names that the loop binds."""
    body = file.project.body(file.path)
    bound = bound_by(file, place.function, loop)
    steps: list[Step] = []
    same, hops, at = True, 0, place.frame.at
    while body is not None:
        index = node.slice if isinstance(node, ast.Subscript) else None
        given = node.args if isinstance(node, ast.Call) else []
        same = same and not any(names_of(part) & bound for part in (index, *given) if part is not None)
        steps.append(Step(node, same and not (isinstance(node, ast.Name) and node.id in bound)))
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Attribute) or not _only_looks(node):
                return []
            node = node.func.value
            denoted = file.denotes(node, place) or ""
            if "()" not in denoted and denoted.partition(".")[0] in ("torch", "numpy", "math"):
                return []  # a module of functions is no tensor
        elif isinstance(node, ast.Compare | ast.BinOp):
            compared = _compared(file, place, node)
            if compared is None:
                return []
            node, other = compared
            same = same and not names_of(other) & bound
        elif isinstance(node, ast.Name):
            made = _made_in(body.reaching(place.function, node.id, at), bound, node.id) if hops < _MAX_HOPS else None
            if made is None or any(made is step.node for step in steps):
                return steps
            node, at, hops = made, body.at(made), hops + 1
        elif isinstance(node, ast.Attribute) and node.attr in OF_A_BOX and isinstance(node.value, ast.Name):
            node = node.value
        else:
            return steps if isinstance(node, ast.Attribute) else []
    return []


def _compared(file: SourceFile, place: Place, node: ast.Compare | ast.BinOp) -> tuple[ast.expr, ast.expr] | None:
    """What is compared or computed with a number of the host, and that number: `x[i] > 0.5`, `(1000 - t) / 1000`."""
    sides = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.left, *node.comparators]
    if len(sides) != 2:
        return None
    plain = [side for side in sides if file.value(side, place).kind == "plain"]
    return (sides[plain[0] is sides[0]], plain[0]) if len(plain) == 1 else None


def bound_by(file: SourceFile, function: int, loop: Loop) -> frozenset[str]:
    """The names that the turns of a loop bind, its own variables too."""
    # Asked of each read in a loop; walked again each time, a long loop would cost the square of its length.
    known = file.once(_bound_by_loops)
    if loop not in known:
        stored = (n for n in _body(file, function, loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        known[loop] = frozenset({*names_of(loop.target), *(node.id for node in stored)})
    return known[loop]


def _bound_by_loops(_: SourceFile) -> dict[Loop, frozenset[str]]:
    return {}


def changed_in(file: SourceFile, function: int, loop: Loop, whole: ast.expr, trained: bool = True) -> bool:
    """Whether turns of a loop may change a tensor: bind its names, write into it, train.

    :param trained: whether it may be what an optimizer trains
    """
    names = names_of(whole)
    if names & bound_by(file, function, loop):
        return True
    roots = {chain(n) for n in ast.walk(whole) if isinstance(n, ast.Name | ast.Attribute)}
    views = roots | names_of_views(file, function, whole)
    for node in _body(file, function, loop):
        if (trained and _trains(node)) or any(chain(part) in views for part in _written(node)):
            return True
        # Who is given one part, as to save it, is not taken for somebody who changes it.
        if any(chain(without_views(given)) in roots for given in given_for_effect(node)):
            return True
        given = node.keywords if isinstance(node, ast.Call) else []
        if any(k.arg == "out" and base_of(viewed(k.value)) in names for k in given):
            return True
    return False


def _trains(node: ast.AST) -> bool:
    """Whether a node steps an optimizer; a scheduler's `step(noise, t, x)` gives `x` back."""
    called = node.func if isinstance(node, ast.Call) and len(node.args) <= 1 else None
    return isinstance(called, ast.Attribute) and called.attr in _TRAINS


def _written(node: ast.AST) -> Iterator[ast.expr]:
    """What a node writes into, or may: the whole, where that is a part or view."""
    if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
        yield viewed(node.value if isinstance(node, ast.Subscript) else node)
    elif isinstance(node, ast.AugAssign):
        yield viewed(node.target)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and in_place(node.func.attr):
        yield viewed(node.func.value)
    if isinstance(node, ast.Call):
        yield from (viewed(k.value) for k in node.keywords if k.arg == "out")


def counted_in(file: SourceFile, function: int, loop: Loop, index: ast.expr) -> bool:
    """Whether an index is a counter that the turns of a loop move on: `grid[i]`, and behind it `i += 1`."""
    if not isinstance(index, ast.Name) or index.id not in bound_by(file, function, loop):
        return False
    nodes = list(_body(file, function, loop))
    moves = [n for n in nodes if isinstance(n, ast.AugAssign) and chain(n.target) == index.id]
    stored = [n for n in nodes if isinstance(n, ast.Name) and n.id == index.id and isinstance(n.ctx, ast.Store)]
    ahead = all(isinstance(m.op, ast.Add) and isinstance(m.value, ast.Constant) for m in moves)
    return bool(moves) and ahead and len(stored) == len(moves)


def parts_of(target: ast.expr, iterated: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """(variable, what its values are the elements of), through `enumerate`, progress bars and `zip`."""
    if isinstance(iterated, ast.Call) and iterated.args:
        name = last_part(chain(iterated.func))
        if name == "enumerate" and isinstance(target, ast.Tuple) and len(target.elts) == 2:
            yield from parts_of(target.elts[1], iterated.args[0])
            return
        if name in _SIDE_BY_SIDE and isinstance(target, ast.Tuple) and len(target.elts) == len(iterated.args):
            for element, part in zip(target.elts, iterated.args, strict=True):
                yield from parts_of(element, part)
            return
        if name in _WRAPPERS and name != "enumerate" and isinstance(iterated.func, ast.Name):
            yield from parts_of(target, iterated.args[0])
            return
    if isinstance(target, ast.Name):
        yield target.id, iterated


def _body(file: SourceFile, function: int, loop: Loop) -> Iterator[ast.AST]:
    if isinstance(loop, ast.comprehension):
        made = file.enclosing(function).parents.get(loop)
        roots: list[ast.AST] = [getattr(made, "elt", None) or getattr(made, "value", None) or loop.target]
    else:
        roots = [*loop.body]
    for root in roots:
        yield from nodes_of(root)


def _made_in(found: list[Definition] | None, bound: frozenset[str], name: str) -> ast.expr | None:
    """What a name that the loop binds was made from there, where that is one expression."""
    if name not in bound or not found:
        return None
    last = found[-1]
    if len(found) != 1 and last.how not in ("assign", "item"):
        return None
    if last.how == "assign":
        return last.value
    if last.how == "item" and isinstance(last.value, ast.Tuple) and len(last.index) == 1:
        return last.value.elts[last.index[0]] if last.index[0] < len(last.value.elts) else None
    if last.how == "item" and isinstance(last.value, ast.Call) and len(last.index) == 1:
        function = last.value.func  # `_, best = scores[i].max(dim=0)`
        return last.value if isinstance(function, ast.Attribute) and function.attr in api.PAIR_METHODS else None
    return None


def _only_looks(node: ast.Call) -> bool:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    return not in_place(name) and name not in _RANDOM
