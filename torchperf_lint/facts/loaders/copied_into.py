"""Batches that are copied into a tensor which lies on the device: `buffer.copy_(batch)`.

    image = torch.empty(64, 3, 32, 32, device="cuda")          def load(buffer, data):
    for x, y in loader:                                            buffer.data.resize_(data.size()).copy_(data)
        image.copy_(x)

Graphs of CUDA are fed so, and code of old kept its memory so. It waits for the copy as `.cuda()` does.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.constants.shared_memory import without_views
from torchperf_lint.facts.devices.devices import moves_to_device
from torchperf_lint.facts.files.hot_callers import MAX_CALLS, HotCaller, hot_callers
from torchperf_lint.facts.loaders.batches_by_caller import batch_of_a_caller
from torchperf_lint.facts.loaders.loaders import is_host_batch
from torchperf_lint.facts.outlines.records import END_OF_FILE
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import DEVICE, HOST, Frame, Value
from torchperf_lint.facts.values.values import Values
from torchperf_lint.model import Confidence

_MAX_BINDINGS = 3
_ITSELF = frozenset("resize_ resize_as_ zero_".split())
"""Methods that change a tensor where it is, and give it back."""


def batch_copied_into(values: Values, node: ast.Call, frame: Frame) -> Value | None:
    """The batch on the host that `copy_` copies into a tensor on the device; None where either is not known."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "copy_" or not node.args:
        return None
    return _copied(values, node.func.value, node.args[0], frame, MAX_CALLS)


def _copied(values: Values, buffer: ast.expr, source: ast.expr, frame: Frame, calls: int) -> Value | None:
    if not _is_given(values, buffer, frame) or not _is_given(values, source, frame):
        if not _is_on_device(values, buffer, frame):
            return None
        value = values.of(source, frame)
        return value if is_host_batch(value) else batch_of_a_caller(values, _undivided(source), frame)
    return _by_a_caller(values, _whole(buffer), _whole(source), frame, calls) if calls else None


def _by_a_caller(values: Values, buffer: ast.expr, source: ast.expr, frame: Frame, calls: int) -> Value | None:
    """What one call of the function passes for both, of those that run every step or evaluation batch."""
    for caller in hot_callers(values, frame):
        into, given = _argument(caller, buffer), _argument(caller, source)
        if into is None or given is None:
            continue
        batch = _copied(values, into, given, caller.frame, calls - 1)
        if batch is not None:
            return caller.passing(batch)
    return None


def _argument(caller: HotCaller, parameter: ast.expr) -> ast.expr | None:
    return caller.argument(parameter.id) if isinstance(parameter, ast.Name) else None


def _is_given(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether something is a parameter of its function as it was passed."""
    whole, body = _whole(node), values.body(frame.path)
    if body is None or not isinstance(whole, ast.Name):
        return False
    parameters = values.index.outlines[frame.path].functions[frame.function].parameters
    return any(p.name == whole.id for p in parameters) and not body.reaching(frame.function, whole.id, frame.at)


def _whole(node: ast.expr) -> ast.expr:
    """`buffer` of `buffer.data.resize_(data.size())`."""
    while True:
        node = without_views(node)
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in _ITSELF:
            return node
        node = node.func.value


def _undivided(source: ast.expr) -> ast.expr:
    """`batch` of `batch[0]`, `batch["image"]`: what a part of it is copied of."""
    part = isinstance(source, ast.Subscript) and isinstance(source.slice, ast.Constant)
    return source.value if part and isinstance(source, ast.Subscript) else source


def _is_on_device(values: Values, buffer: ast.expr, frame: Frame) -> bool:
    """Whether a tensor lies on the device, or does so wherever there is one: `if cuda: image = image.cuda()`."""
    value = values.of(buffer, frame)
    if value.kind != "tensor" or value.device == HOST:
        return False
    if value.device == DEVICE:
        return value.confidence.at_least(Confidence.LIKELY)
    return _is_moved(values, _whole(buffer), frame)


def _is_moved(values: Values, whole: ast.expr, frame: Frame, bindings: int = _MAX_BINDINGS) -> bool:
    """Whether a binding of a name moves it to the device, in its function or in the module."""
    body = values.body(frame.path)
    if body is None or not isinstance(whole, ast.Name) or not bindings:
        return False
    scope = frame.function if whole.id in body.definitions(frame.function) else 0
    at = frame.at if scope == frame.function else END_OF_FILE
    bound = [d.value for d in body.reaching(scope, whole.id, at) or () if isinstance(d.value, ast.Call)]
    return any(_moves(values, call, Frame(frame.path, scope, body.at(call)), bindings - 1) for call in bound)


def _moves(values: Values, call: ast.Call, frame: Frame, bindings: int) -> bool:
    """`image.cuda()`, also where a `Variable` of old is wrapped around it later."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("to", "cuda"):
        return moves_to_device(values, call, frame)
    wraps = last_part(chain(call.func)) == api.VARIABLE and bool(call.args)
    return wraps and _is_moved(values, call.args[0], frame, bindings)
