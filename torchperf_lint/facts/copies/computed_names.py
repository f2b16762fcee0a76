"""What a name on the host may stand for: its bindings, what is written into it, and the parts of helpers' results."""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.constants.constants import constancy
from torchperf_lint.facts.copies.filled_first import OF_ITSELF
from torchperf_lint.facts.copies.written_into import is_cut_once, steady_place, written_before
from torchperf_lint.facts.devices.movers import moved_by_function
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.values.parts_of_results import Parts, part_of_result
from torchperf_lint.facts.values.value import DEVICE, HOST, MAX_HOPS, Frame, Value
from torchperf_lint.facts.values.values import Values
from torchperf_lint.model import Confidence

_BINDS = ("assign", "augmented", "item")
_MAX_CALLERS = 4


def bound_parts(values: Values, node: ast.Name, frame: Frame, seen: set[tuple[str, int, int]]) -> Parts | None:
    """What a local name may be bound to, each binding once; None where one cannot be told."""
    body = values.body(frame.path)
    reaching = body.reaching(frame.function, node.id, frame.at) if body is not None else None
    if body is not None and not reaching:
        return _from_callers(values, node.id, frame)
    if body is None or not reaching or any(d.how not in _BINDS or not d.value for d in reaching):
        return None
    written = list(written_before(body, frame.function, node.id, reaching, frame.at))
    changes = {use for use, _ in body.uses(frame.function, node.id) if use.endswith("_")}
    if changes - api.DERIVING - OF_ITSELF - api.SCATTERING:
        return None  # `staging.copy_(batch)`: its data come from elsewhere
    new = [d for d in reaching if (frame.path, *d.at) not in seen]
    stored = [value for _, value in written] if new else []
    there = [(part, frame.back(body.at(part))) for pair in written for part in pair]
    masks = [(m, frame.back(body.at(m))) for target, _ in written if (m := _mask(values, target, body, frame))]
    rows = {id(value) for target, value in written if _is_a_row(values, target, value, frame.back(body.at(value)))}
    copied = {id(target) for target, value in written if _comes_from_device(values, value, frame.back(body.at(value)))}
    if new and not all(
        id(part) in copied
        or steady_place(values, part, at, frame.at)
        or is_cut_once(values, part, reaching, at)
        or any(part.slice is m for m, _ in masks)
        if isinstance(part, ast.Subscript) and number % 2 == 0
        else id(part) in rows or _is_alike(values, part, at, frame.at)
        for number, (part, at) in enumerate(there)
    ):
        return None
    seen.update((frame.path, *d.at) for d in new)
    values_of = [(d.value, d.at) for d in new if d.value is not None and d.how != "item"]
    values_of += [(s, body.at(s)) for s in stored if _is_put_from_host(values.of(s, frame._replace(at=body.at(s))))]
    given = [_given(values, d, frame) for d in new if d.how == "item"]
    if None in given:
        return None
    bound = [(value, frame.back(at)) for value, at in values_of] + [part for parts in given for part in parts or ()]
    return bound + (masks if new else [])


def may_be_from_callers(values: Values, name: str, frame: Frame) -> bool:
    """Whether a name is a parameter of a function that few places of hot code call."""
    return bool(_hot_callers(values, name, frame))


def _hot_callers(values: Values, name: str, frame: Frame) -> list[CallSite]:
    key = FunctionKey(frame.path, frame.function)
    takes = any(p.name == name for p in values.index.function(key).parameters)
    callers = values.hotness.callers.get(key, ()) if takes else ()
    hot = [c for c in callers if FunctionKey(c.path, c.call.function) in values.hotness.functions]
    return hot if len(hot) <= _MAX_CALLERS else []


def _from_callers(values: Values, name: str, frame: Frame) -> Parts | None:
    """What the hot callers of a function hand it for a parameter, which they make as often as they call it.

    if window is None:                        def _ssim(x, y, window):
        window = gaussian(size)                   window = window.to(x.device)
    return _ssim(x, y, window)
    """
    record = values.index.function(FunctionKey(frame.path, frame.function))
    given: Parts = []
    for caller in _hot_callers(values, name, frame) if frame.hops < MAX_HOPS else ():
        call = call_at(values, caller)
        argument = argument_for(call, record, name) if call is not None else None
        at = (caller.call.line, caller.call.column)
        there = frame.hop(caller.path, caller.call.function, at)
        if call is None or argument is None or moved_by_function(values, call, there) is not None:
            return None  # a function that moves what it is given: told where it is called
        if not _is_bound_when_called(values, argument, there):
            return None
        given.append((argument, there))
    return given or None


def _is_bound_when_called(values: Values, argument: ast.expr, frame: Frame) -> bool:
    """Whether a caller itself binds what it hands on, where its own hot callers get: not what they gave it, or do not
    leave out."""
    body = values.body(frame.path)
    if body is None or not isinstance(argument, ast.Name):
        return body is not None
    bound = body.reaching(frame.function, argument.id, frame.at)
    return bool(bound) and all(values.hotness.at(frame.path, d.at) is not None for d in bound or ())


def _given(values: Values, d: Definition, frame: Frame) -> Parts | None:
    """What an element of what a helper gives is made of: `lo, hi = make_filters(wavelet)`."""
    return part_of_result(values, d, d.index[0], frame) if len(d.index) == 1 else None


def _is_put_from_host(value: Value) -> bool:
    """Whether what is put into a tensor is one on the host; of one on the device, the copy back comes on top."""
    return value.kind == "tensor" and value.device == HOST


def _comes_from_device(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether what is put into a tensor on the host lies on the device: wherever it is put, it need not have left."""
    value = values.of(node, frame)
    return value.kind == "tensor" and value.device == DEVICE and value.confidence is not Confidence.POSSIBLE


def _mask(values: Values, target: ast.expr, body: Body, frame: Frame) -> ast.expr | None:
    """The mask on the host that picks where something is put, `k[kinds == 1] = w`: it is looked at as the rest is."""
    if not isinstance(target, ast.Subscript) or not isinstance(target.slice, ast.Compare | ast.BinOp | ast.Name):
        return None
    value = values.of(target.slice, frame.back(body.at(target.slice)))
    return target.slice if value.kind == "tensor" and value.device == HOST else None


def _is_alike(values: Values, node: ast.expr, frame: Frame, used: Position) -> bool:
    """Whether what is put into a tensor is another one, which is looked at, or a number that no step changes."""
    return values.of(node, frame).kind == "tensor" or constancy(values, node, frame, used) is not None


def _is_a_row(values: Values, target: ast.expr, value: ast.expr, frame: Frame) -> bool:
    """`theta[:, :, 2] = shift`: what fills rows, and is not known to be a list or an array, is a tensor."""
    parts = target.slice.elts if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Tuple) else []
    return any(isinstance(part, ast.Slice) for part in parts) and values.of(value, frame).kind == "unknown"
