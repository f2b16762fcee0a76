"""Rows that lie one segment after the other, and a loop that reduces each segment with kernels of its own.

    for start, length in scope:
        vectors.append(hidden.narrow(0, start, length).sum(dim=0) / length)

Where the segments begin the host knows, so no wait shows; one `index_add_` sums all of them. So it does for rows that
lists choose: `[torch.mean(hidden[rows], dim=0) for rows in groups]`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.bindings.effects import statements
from torchperf_lint.facts.constants.changed_in_place import base_of, changed
from torchperf_lint.facts.constants.tracing import bound_by
from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.element_loops.index_lists import chooses_several
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import Spot, hot_nodes, spot_at
from torchperf_lint.facts.hotness.loop import FEW_TURNS
from torchperf_lint.facts.outlines.guards import literal_turns
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_literal
from torchperf_lint.facts.syntax.syntax import names_of, nodes_of
from torchperf_lint.facts.values.value import Value

_REDUCTIONS = frozenset({"sum", "mean"})
_WRAPPERS = frozenset({"zip", "tqdm"})


class SegmentLoop(NamedTuple):
    """A loop whose turns each reduce some rows of a tensor."""

    spot: Spot
    """What the loop goes over."""
    whole: ast.expr
    """The tensor that holds the rows."""
    value: Value
    reduction: str
    """`sum` or `mean`."""
    groups: ast.expr | None
    """The list of the rows of each segment, where they do not lie side by side."""


def segment_loops(file: SourceFile) -> Iterator[SegmentLoop]:
    """The hot loops over pairs of places whose turns reduce the rows in between, and gather what that gives."""
    for spot in hot_nodes(file, ast.For, ast.ListComp):
        loop = spot.expression
        assert isinstance(loop, ast.For | ast.ListComp)
        head = loop if isinstance(loop, ast.For) else loop.generators[0]
        over, name = _one(head.target, head.iter)
        places = [name] if name else _pair(head.target, head.iter)
        turns = literal_turns(head.iter)
        if spot.hot.kind == "data" or not places or (turns is not None and turns <= FEW_TURNS):
            continue
        bound = bound_by(file, spot.function, head)
        written = {base_of(place) for node in nodes_of(loop) for place in changed(node)}
        for call in file.enclosing(spot.function).of_kinds((ast.Call,)):
            assert isinstance(call, ast.Call)
            if not isinstance(call.func, ast.Attribute) or call.func.attr not in _REDUCTIONS:
                continue
            whole = _reduced(call, places, file, spot) if loop in file.enclosing(spot.function).around(call) else None
            inside = spot_at(file, call, spot.function) if whole is not None else None
            if whole is None or inside is None or names_of(whole) & bound or not _gathers(loop, call):
                continue
            if base_of(whole) in written or (over is not None and not chooses_several(spot, over, name)):
                continue
            value = on_device(file, inside, whole)
            if value is not None and value.kind == "tensor":
                yield SegmentLoop(spot.at(head.iter), whole, value, last_part(chain(call.func)), over)
                break


def _pair(target: ast.expr, iterated: ast.expr) -> list[str]:
    """The two names that a turn binds to its places; none where they are something else."""
    if isinstance(iterated, ast.Call):
        name = chain(iterated.func)
        if name == "enumerate" and isinstance(target, ast.Tuple) and len(target.elts) == 2 and iterated.args:
            return _pair(target.elts[1], iterated.args[0])
        if name not in _WRAPPERS:
            return []
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else []
    names = [part.id for part in parts if isinstance(part, ast.Name)]
    return names if len(names) == len(parts) == 2 else []


def _one(target: ast.expr, iterated: ast.expr) -> tuple[ast.expr | None, str]:
    """The list that a loop goes over item by item, and what it calls an item; of `enumerate` the second."""
    if isinstance(iterated, ast.Call) and chain(iterated.func) == "enumerate" and iterated.args:
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
            return None, ""
        return _one(target.elts[1], iterated.args[0])
    plain = isinstance(target, ast.Name) and isinstance(iterated, ast.Name | ast.Attribute)
    return (iterated, chain(target)) if plain else (None, "")


def _gathers(loop: ast.For | ast.ListComp, reduction: ast.Call) -> bool:
    """Whether the turns put a reduction, or what they compute of it, into a list."""
    if isinstance(loop, ast.ListComp):
        return reduction in nodes_of(loop.elt)
    made: set[str] = set()
    for statement in statements(loop.body):
        if isinstance(statement, ast.Assign) and _is_made_of(statement.value, reduction, made):
            made |= {target.id for target in statement.targets if isinstance(target, ast.Name)}
    calls = (node for node in nodes_of(loop) if isinstance(node, ast.Call) and last_part(chain(node.func)) == "append")
    return any(_is_made_of(given, reduction, made) for call in calls for given in call.args)


def _is_made_of(node: ast.expr, reduction: ast.Call, made: set[str]) -> bool:
    return reduction in nodes_of(node) or bool(names_of(node) & made)


def _reduced(call: ast.Call, places: list[str], file: SourceFile, spot: Spot) -> ast.expr | None:
    """The tensor of whose rows between two places a call gives the sum or mean."""
    if not isinstance(call.func, ast.Attribute):
        return None
    of_torch = file.denotes(call.func, spot) == f"torch.{call.func.attr}"
    given = call.args[1:] if of_torch else call.args
    dim = next((k.value for k in call.keywords if k.arg in ("dim", "axis")), given[0] if given else None)
    if dim is None or not is_literal(dim, 0) or (of_torch and not call.args):
        return None
    part = call.args[0] if of_torch else call.func.value
    body = file.project.body(file.path)
    if isinstance(part, ast.Name) and body is not None:
        made = body.assigned_once(spot.function, part.id, body.at(part))
        part = made if made is not None else part
    return _segment(part, places)


def _segment(node: ast.expr, places: list[str]) -> ast.expr | None:
    """`x` of `x.narrow(0, start, length)`, `x[start : start + length]` `x[start:end]`, and of `x[rows]`."""
    if len(places) == 1:
        whole = node.value if isinstance(node, ast.Subscript) and chain(node.slice) == places[0] else None
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "narrow":
        taken = [chain(argument) for argument in node.args[1:]]
        whole = node.func.value if node.args and is_literal(node.args[0], 0) and taken == places else None
    else:
        bounds = node.slice if isinstance(node, ast.Subscript) else None
        whole = node.value if isinstance(node, ast.Subscript) and _between(bounds, places) else None
    return whole if isinstance(whole, ast.Name | ast.Attribute) else None


def _between(bounds: ast.expr | None, places: list[str]) -> bool:
    """Whether a slice begins at the first place, and ends at the second or as far behind."""
    if not isinstance(bounds, ast.Slice) or bounds.lower is None or bounds.upper is None or bounds.step is not None:
        return False
    start, end = places
    return ast.unparse(bounds.lower) == start and ast.unparse(bounds.upper) in (end, f"{start} + {end}")
