"""Which device an expression such as `device`, `"cuda:0"` or `x.device` means."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.devices.device_attributes import is_host_attribute
from torchperf_lint.facts.devices.imported_devices import is_imported_host
from torchperf_lint.facts.devices.looked_up_on_host import is_looked_up_on_host
from torchperf_lint.facts.devices.spread_devices import spread_device, spreads
from torchperf_lint.facts.devices.tensor_types import type_of_tensor
from torchperf_lint.facts.devices.types_as_text import type_named
from torchperf_lint.facts.outlines.records import END_OF_FILE
from torchperf_lint.facts.syntax.arguments import moved_to, unpacks_keywords
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.expressions_written import as_written, of_part
from torchperf_lint.facts.values.value import DEVICE, HOST, Frame
from torchperf_lint.patterns import pattern

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_DEVICE_NAME = pattern(r"dev(?:ice)?s?$|device|gpu|cuda|(?:^|_)rank$|(?:^|_)dev(?:_|$)", re.IGNORECASE)
_DTYPE_NAME = pattern(r"dtype|precision$", re.IGNORECASE)
_MAY_BE_A_DTYPE = pattern(
    r"dtype|precision|type$|(?:^|_)(?:dt|t|kind|fmt|format|half|float\d*|fp\d+|bf\d+|args?|kwargs)$", re.I
)
"""Names of what `.to` may be given that is no tensor: a dtype, or arguments that are handed on."""
_OF_A_TENSOR = frozenset({"device", "shape", "ndim", "size", "dim"})
_MAX_CALLERS = 16
"""Calls looked at for a device that they give."""
_TORCH_DTYPES = pattern(
    r"^torch\.(?:float|double|half|bfloat|int|long|short|bool|uint|complex|cfloat|cdouble|q?u?int)\w*$"
)


def device_of(values: Values, node: ast.expr, frame: Frame) -> str | None:
    """DEVICE, HOST, or None when the expression is not (known to be) a device."""
    if isinstance(node, ast.Constant):
        return _of_constant(node.value)
    if isinstance(node, ast.IfExp):
        found = {device_of(values, node.body, frame), device_of(values, node.orelse, frame)}
        return DEVICE if DEVICE in found else HOST if found == {HOST} else None
    if isinstance(node, ast.BoolOp):
        found = {device_of(values, value, frame) for value in node.values}
        return DEVICE if DEVICE in found else HOST if found == {HOST} else None
    if isinstance(node, ast.JoinedStr):
        text = "".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
        return _of_constant(text)
    if isinstance(node, ast.Call):
        made = _of_call(values, node, frame)
        if made is not None:
            return made
    if isinstance(node, ast.Attribute) and node.attr in ("index", "type"):
        node = node.value  # `x.device.index` is where `x` is, too
    return _of_value(values, node, frame)


def _of_value(values: Values, node: ast.expr, frame: Frame) -> str | None:
    """The device that a name or attribute holds, or that it is called like."""
    value = values.of(node, frame)
    if value.kind in ("unknown", "torch_device") and is_imported_host(values, node, frame):
        return HOST
    if value.kind == "torch_device":
        # `x.device` of a tensor that is who knows where: code writes that for accelerators.
        return HOST if value.device == HOST else DEVICE
    name = _written(node)
    if value.kind in ("tensor", "dtype", "batch", "module") or _DTYPE_NAME.search(name):
        return None
    if value.kind in ("unknown", "plain", "object") and _DEVICE_NAME.search(name):
        on_host = is_host_attribute(values, node, frame) or _assigned_string(values, node, frame) == HOST
        on_host = on_host or is_looked_up_on_host(values, node, frame)
        return HOST if on_host else DEVICE
    return None


def _written(node: ast.expr) -> str:
    """What an expression is called: the last of its names, or the key of `config["device"]`."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        return node.slice.value
    return chain(node).replace("()", "").rpartition(".")[2]


def is_dtype(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether an expression is a dtype: `torch.float16`, `x.dtype`, or a name that says so."""
    thing = values.thing(node, frame)
    if thing is not None and thing.kind == "external" and _TORCH_DTYPES.match(thing.dotted):
        return True
    return bool(_DTYPE_NAME.search(chain(node).rpartition(".")[2])) or values.of(node, frame).kind == "dtype"


def _of_constant(value: object) -> str | None:
    if isinstance(value, str):
        return HOST if value.startswith("cpu") or value == "meta" else DEVICE if value else None
    return DEVICE if isinstance(value, int) and not isinstance(value, bool) else None


def _of_call(values: Values, node: ast.Call, frame: Frame) -> str | None:
    if isinstance(node.func, ast.Attribute) and node.func.attr == "get_device" and not node.args:
        return HOST if values.of(node.func.value, frame).device == HOST else DEVICE
    thing = values.thing(node.func, frame)
    if thing is None or thing.kind != "external":
        return None
    if thing.dotted == "torch.device" and node.args:
        return device_of(values, node.args[0], frame) or DEVICE
    if thing.dotted in ("torch.cuda.current_device", "torch.accelerator.current_accelerator"):
        return DEVICE
    return None


def _assigned_string(values: Values, node: ast.expr, frame: Frame) -> str | None:
    """HOST when the name is only ever bound to a CPU device in its function.

    Of a parameter, `if device is None: device = "cpu"` says no more than what is there for who gives none.
    """
    if not isinstance(node, ast.Name):
        return None
    body = values.body(frame.path)
    reaching = body.reaching(frame.function, node.id, frame.at) if body is not None else None
    if body is None or not reaching or frame.depth > 15:
        return None
    parameters = values.index.outlines[frame.path].functions[frame.function].parameters
    around = body.block_of(frame.function, frame.at)
    instead = any(p.name == node.id for p in parameters) and all(d.block != around[: len(d.block)] for d in reaching)
    if instead and _is_given(values, FunctionKey(frame.path, frame.function), node.id):
        return None
    found = {device_of(values, d.value, frame.deeper()) for d in reaching if d.value is not None and d.how == "assign"}
    return HOST if found == {HOST} else None


def _is_given(values: Values, key: FunctionKey, name: str) -> bool:
    """Whether any call gives a parameter, as far as the project shows its callers."""
    sites = values.hotness.callers.get(key, ())
    if not sites:
        return True
    function = values.index.function(key)
    calls = [call_at(values, site) for site in sites[:_MAX_CALLERS]]
    return any(
        call is None or unpacks_keywords(call) or argument_for(call, function, name) is not None for call in calls
    )


def target_device(values: Values, node: ast.Call, frame: Frame) -> str | None:
    """Where `.to(...)` or a factory's `device=` puts its result; None when only the dtype changes or unknown."""
    for keyword in node.keywords:
        if keyword.arg == "device":
            return device_of(values, keyword.value, frame)
    spread = spread_device(values, node, frame) if spreads(node) else None
    if spread is not None:
        return device_of(values, *spread)
    if not node.args or not isinstance(node.func, ast.Attribute) or node.func.attr != "to":
        return None
    first = node.args[0]
    if is_dtype(values, first, frame):
        return None
    found = device_of(values, first, frame)
    if found is not None:
        return found
    other = values.of(first, frame)
    if other.kind != "tensor":
        return DEVICE if other.kind == "unknown" and has_a_device(values, first, frame) else None
    return HOST if other.device == HOST else DEVICE


def has_a_device(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether the function asks a name for its device or shape, too: of what `.to` takes, only a tensor has them."""
    body = values.body(frame.path) if isinstance(node, ast.Name) else None
    return body is not None and any(use in _OF_A_TENSOR for use, _ in body.uses(frame.function, chain(node)))


def destination(values: Values, node: ast.Call, frame: Frame) -> tuple[str | None, str]:
    """Where `.to`, `.cuda` or `.type_as` moves to: the device as it is known, and as written."""
    assert isinstance(node.func, ast.Attribute)
    target = moved_to(node)
    if node.func.attr == "cuda":
        return DEVICE, '"cuda"' if target is None else as_written(target)
    if node.func.attr == "type_as":
        other = values.of(target, frame) if target is not None else None
        # It takes nothing but a tensor: of a list that is given to `forward`, an element is one.
        there = other is not None and (other.on_device or other.kind == "unknown")
        return (DEVICE, of_part(target, "device")) if there and target is not None else (None, "")
    if target is None:
        return None, ""
    if node.func.attr == "type":
        named = type_of_tensor(values, target, frame)
        if named is not None:
            return DEVICE, f"{named}.device"
        return (DEVICE, '"cuda"') if is_cuda_type(values, target, frame) else (None, "")
    value = values.of(target, frame)
    found = target_device(values, node, frame)
    moved_batch = value.kind == "batch" and value.device == DEVICE
    if found is None and (moved_batch or (value.kind == "unknown" and names_a_tensor(values, target, frame))):
        return DEVICE, of_part(target, "device")
    beside = value.kind == "tensor" or (value.kind == "unknown" and has_a_device(values, target, frame))
    return found, ast.unparse(target) + (".device" if beside else "")


def names_a_tensor(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether what `.to` is given, `logits` or `batch[0]`, is called like no device and no dtype: a tensor is left."""
    while isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
        node = node.value
    name = _written(node)
    if not name or "?" in name or _DEVICE_NAME.search(name) or _MAY_BE_A_DTYPE.search(name):
        return False
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript) or is_dtype(values, node, frame):
        return False
    return device_of(values, node, frame) is None




def is_cuda_type(values: Values, node: ast.expr, frame: Frame) -> bool:
    """`torch.cuda.FloatTensor`, also by a name that is bound to it where there is a device."""
    if not isinstance(node, ast.Name | ast.Attribute):
        return isinstance(node, ast.Constant) and str(node.value).startswith("torch.cuda.")
    body = values.body(frame.path) if isinstance(node, ast.Name) else None
    reaching = body.reaching(frame.function, chain(node), frame.at) if body is not None else None
    if reaching is None and body is not None and frame.function:
        reaching = body.reaching(0, chain(node), END_OF_FILE)  # `Tensor = ...` above the functions that use it
    made = reaching[0].value if reaching and len(reaching) == 1 else None
    if isinstance(made, ast.IfExp):
        others = (part for part in (made.body, made.orelse) if chain(part) != chain(node))  # `T = cuda if ok else T`
        return any(is_cuda_type(values, part, frame) for part in others)
    things = values.types.things(frame.path, frame.function, chain(node))
    if any(t.dotted.startswith("torch.cuda.") and t.dotted.endswith("Tensor") for t in things):
        return True
    return (type_named(values, node, frame) or "").startswith("torch.cuda.")


def moves_to_device(values: Values, node: ast.Call, frame: Frame) -> bool:
    """Whether a call of `to`, `cuda` or `type_as` takes a tensor to an accelerator."""
    return destination(values, node, frame)[0] == DEVICE
