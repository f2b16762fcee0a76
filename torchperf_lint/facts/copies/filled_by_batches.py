"""Lists that a loop over batches fills with the rows of what it computes, to be copied to the host one by one later.

    for batch in loader:
        rows.extend(model(batch).split(lengths))       # ragged parts of one tensor, all kept on the device
    return [row.cpu().numpy() for row in rows]         # one wait for each sentence of the data set

One copy a batch, before it is split, gives the same rows on the host, and frees the device's memory as well.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.source import Place, SourceFile
from torchperf_lint.facts.files.spots import Spot
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.syntax import first_part
from torchperf_lint.facts.values.value import ANYWHERE, Value, tensor
from torchperf_lint.model import Confidence

_SPLITS = frozenset({"split", "unbind", "chunk", "tensor_split"})
_HOPS = 2


class Filling(NamedTuple):
    """The statement that puts the rows of one batch into a list."""

    value: Value
    hot: Hot
    line: int


def filled_by_batches(file: SourceFile, place: Place, whole: ast.expr) -> Filling | None:
    """Where a list that a loop goes over gets the rows of a batch on the device; None for other lists."""
    body = file.project.body(file.path)
    if body is None:
        return None
    name = _before_reordering(file, place, whole)
    for call in file.enclosing(place.function).of_kinds((ast.Call,)):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "extend":
            continue
        if chain(call.func.value) != name or len(call.args) != 1 or body.at(call) > place.frame.at:
            continue
        hot = file.project.hotness.at(file.path, body.at(call))
        if hot is None or hot.kind not in ("eval", "step", "rollout", "forward") or hot.loop is None:
            continue
        value = _rows(file, Spot(file, call, place.function, hot, body.at(call)), call.args[0])
        if value is not None:
            return Filling(value, hot, call.lineno)
    return None


def _before_reordering(file: SourceFile, place: Place, whole: ast.expr) -> str:
    """The list of which `rows = [rows[i] for i in order]` takes the same rows."""
    body, node, at = file.project.body(file.path), whole, place.frame.at
    for _ in range(_HOPS):
        named = node.id if isinstance(node, ast.Name) else ""
        made = body.assigned_once(place.function, named, at) if body is not None else None
        element = made.elt if isinstance(made, ast.ListComp) else None
        if made is None or body is None or not isinstance(element, ast.Subscript):
            break
        node, at = element.value, body.at(made)
    return chain(node)


def _rows(file: SourceFile, place: Spot, given: ast.expr) -> Value | None:
    """The tensor on the device whose parts are added, where that is known."""
    if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr in _SPLITS:
        return _on_device(file, place, given.func.value)
    value = file.value(given, place)
    if value.kind == "tensor":
        return _on_device(file, place, given)
    if value.kind == "sequence" and value.item is not None and value.item.kind == "tensor":
        return value.item.weaker(Confidence.LIKELY) if value.item.on_device else None
    return _rows_that_a_helper_takes(file, place, given) if isinstance(given, ast.Call) else None


def _rows_that_a_helper_takes(file: SourceFile, place: Spot, call: ast.Call) -> Value | None:
    """`trim(hidden, mask)`: a function of the file that goes over its first argument and keeps parts of each row."""
    targets = file.project.types.targets(file.path, place.function, chain(call.func))
    if len(targets) != 1 or not call.args:
        return None
    given = _on_device(file, place, call.args[0])
    return given if given is not None and _keeps_rows(file, targets[0]) else None


def _keeps_rows(file: SourceFile, key: FunctionKey) -> bool:
    body, record = file.project.body(key.path), file.project.index.function(key)
    if body is None or not record.parameters[record.bound :]:
        return False
    first, rows = record.parameters[record.bound].name, set()
    for loop in (n for n in ast.walk(body.functions[key.index]) if isinstance(n, ast.For)):
        walked = loop.iter.args[0] if isinstance(loop.iter, ast.Call) and loop.iter.args else loop.iter
        target = first_part(loop.target)
        if chain(walked) == first and chain(loop.iter).partition("(")[0] in ("zip", first):
            rows.add(chain(target))
    returned = [chain(node) for node in body.returns(key.index)]
    stored = [part for name in returned for part in body.stored_items(key.index, name)]
    return bool(stored) and all(
        isinstance(part, ast.Subscript | ast.Name) and chain(part).partition("[")[0] in rows for part in stored
    )


def _on_device(file: SourceFile, place: Spot, node: ast.expr) -> Value | None:
    value = file.value(node, place)
    if value.kind == "tensor" and value.on_device and file.project.uses_accelerator:
        return value.weaker(Confidence.LIKELY)
    masked = node.value if isinstance(node, ast.Subscript) else node
    if value.kind == "unknown" and isinstance(masked, ast.Name) and _given_by_a_module(file, place, masked):
        return tensor(ANYWHERE, f"`{masked.id}` is what a module computes (line {place.start[0]})", Confidence.LIKELY)
    return None


def _given_by_a_module(file: SourceFile, place: Spot, name: ast.Name) -> bool:
    """`arcs, rels = self.model.decode(scores, mask)`: what a method of a module makes of tensors."""
    body = file.project.body(file.path)
    found = body.reaching(place.function, name.id, place.start) if body is not None else None
    made = found[0].value if found and len(found) == 1 else None
    if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Attribute):
        return False
    of_module = file.value(made.func.value, place).kind == "module"
    return of_module and any(file.value(argument, place).kind == "tensor" for argument in made.args)


def one_by_one(file: SourceFile, whole: ast.expr, found: Filling) -> Hot:
    """Why the rows of such a list matter: there are as many as the data set has samples."""
    when = f"for each element of `{file.brief(whole)}`"
    because = f"it runs {when}, which gets the rows of every batch at line {found.line}: {found.hot.because}"
    return Hot("elements", because, when, Confidence.LIKELY, file.path, found.line)
