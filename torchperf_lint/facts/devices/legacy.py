"""`tensor.type(...)` and `type_as`: types of old name their device, `torch.cuda.FloatTensor`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.devices.devices import is_dtype
from torchperf_lint.facts.devices.types_as_text import type_named
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.values.value import ANYWHERE, DEVICE, HOST, Frame, Value

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_ON_HOST = frozenset(f"torch.{name}" for name in api.LEGACY_TYPES)
_ON_DEVICE = frozenset(f"torch.cuda.{name}" for name in api.LEGACY_TYPES)


def of_type(values: Values, node: ast.Call, base: Value, frame: Frame) -> Value:
    """What `base.type(x)` or `base.type_as(x)` gives: where the type says; there is no other word of a dtype."""
    given = node.args[0] if node.args else node.keywords[0].value
    device = _device_of_type(values, given, base, frame)
    if device is None:
        return base
    written = ast.unparse(node.func).rpartition(".")[2]
    return base.moved(device, base.because if device == base.device else f"moved by `.{written}({ast.unparse(given)})`")


def _device_of_type(values: Values, given: ast.expr, base: Value, frame: Frame) -> str | None:
    """None where only the dtype changes.

    That a setting brings a tensor of the device to the host is not taken for sure: who reads it there would not wait.
    """
    if isinstance(given, ast.Constant) and isinstance(given.value, str):
        names = {given.value}
    else:
        things = values.types.things(frame.path, frame.function, ast.unparse(given)) if _plain(given) else ()
        names = {thing.dotted for thing in things if thing.kind == "external"}
        text = type_named(values, given, frame) if not names & (_ON_HOST | _ON_DEVICE) else None
        if text is not None and (text in _ON_DEVICE or base.device == HOST):
            names = {text}
    if names and names <= _ON_HOST | _ON_DEVICE:
        return DEVICE if names <= _ON_DEVICE else HOST if names <= _ON_HOST else ANYWHERE
    if is_dtype(values, given, frame):
        return None
    like = given.func.value if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) else given
    value = values.of(like, frame)
    return value.device if value.kind in ("tensor", "batch") else ANYWHERE


def _plain(node: ast.expr) -> bool:
    return isinstance(node, ast.Name | ast.Attribute)
