"""Functions that move what they are given to a device: a project's own `to_device(x, device)`, and public ones."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from torchperf_lint.facts.call_graph.passed import by_place
from torchperf_lint.facts.devices.devices import device_of
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.expressions_written import of_part
from torchperf_lint.facts.values.value import DEVICE, HOST, Frame
from torchperf_lint.facts.values.values import Values
from torchperf_lint.patterns import pattern

MOVERS = (
    *("to_device", "to_cuda", "to_gpu", "move_to", "move_to_device", "send_to_device", "move_data_to_device"),
    *("move_to_cuda", "move_to_gpu", "to_var", "to_variable", "make_cuda", "put_on_device", "place_on_device"),
)
"""What such functions are called most often."""
_NAMED_SO = pattern(
    r"^_?(?:\w+_)?(?:copy|move|send|put|transfer|convert)_(?:\w+_)?to(?:_(?:cuda|gpu|device))?$|_(?:to|on)_(?:cuda|gpu|device)$"
)
"""What projects call their own as well, `async_copy_to(x, gpu)`."""
_TO_CUDA = frozenset({"to_cuda", "to_gpu", "move_to_cuda", "move_to_gpu", "to_var", "to_variable", "make_cuda"})
"""Those that need not be told where to."""
_PUBLIC = ("accelerate.", "lightning.", "fastai.")


def movers_called(names: Iterable[str]) -> tuple[str, ...]:
    """Those among some names of functions that such functions are called by."""
    return tuple(sorted(set(filter(_is_named_so, names)) - set(MOVERS)))


@lru_cache(1 << 14)
def _is_named_so(name: str) -> bool:
    return _NAMED_SO.search(name) is not None


class Moved(NamedTuple):
    """What a function moves, and where to."""

    data: ast.expr
    device: str
    """The device as written, `x.device` where the function is given a tensor that is there."""


def moved_by_function(values: Values, node: ast.Call, frame: Frame) -> Moved | None:
    """What a call of one of MOVERS moves to an accelerator; None where the function does not, or it is not clear."""
    given = [*node.args[1:], *(keyword.value for keyword in node.keywords)]
    if not node.args or any(isinstance(argument, ast.Starred) for argument in node.args):
        return None
    if not _moves_its_first(values, node, frame):
        return None
    if last_part(chain(node.func)) in _TO_CUDA and not given:
        return Moved(node.args[0], '"cuda"')
    written = next((found for argument in given if (found := _device(values, argument, frame)) is not None), None)
    return Moved(node.args[0], written) if written is not None else None


def _device(values: Values, node: ast.expr, frame: Frame) -> str | None:
    """The device that an argument names, or is on, as written; None for the host and for anything else."""
    value = values.of(node, frame)
    if value.kind == "tensor":
        return of_part(node, "device") if value.device != HOST else None
    return ast.unparse(node) if device_of(values, node, frame) == DEVICE else None


def _moves_its_first(values: Values, node: ast.Call, frame: Frame) -> bool:
    targets = values.types.targets(frame.path, frame.function, chain(node.func))
    if not targets:
        thing = values.thing(node.func, frame)
        return thing is not None and thing.kind == "external" and thing.dotted.startswith(_PUBLIC)
    key = targets[0]
    record, body = values.index.function(key), values.body(key.path)
    names = by_place(record)
    if len(targets) > 1 or body is None or not names:
        return False
    return any(attribute in api.MOVES for attribute, _ in body.uses(key.index, names[0]))


COPIERS = ("new_tensor",)
"""Methods that copy what they are given to where their tensor is."""


def copied_beside(values: Values, node: ast.Call, frame: Frame) -> Moved | None:
    """What `x.new_tensor(t)` copies to where `x` is; None where that is the host, or a device is named."""
    if not isinstance(node.func, ast.Attribute) or len(node.args) != 1 or any(k.arg != "dtype" for k in node.keywords):
        return None
    base = values.of(node.func.value, frame)
    there = base.kind == "tensor" and base.device != HOST
    return Moved(node.args[0], of_part(node.func.value, "device")) if there else None
