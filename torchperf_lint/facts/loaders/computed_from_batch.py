"""What a step computes on the host from the batch of a loader, and copies to the device only then.

    for points, labels in loader:
        parts = torch.chunk(labels, 4)
        for part in parts:
            loss = criterion(model(x), part.cuda())        # pageable, as each result on the host is
        points = torch.Tensor(augment(points.numpy())).cuda()

The loader may pin the batch; what is computed from it lies in pageable memory again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.devices.devices import destination
from torchperf_lint.facts.devices.moved_names import TAKEN_IN
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.loaders.loaders import is_host_batch
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.values.value import DEVICE, HOST, Frame, Value
from torchperf_lint.facts.values.values import Values
from torchperf_lint.model import Confidence

_MAX_PARTS = 30
"""How many expressions between a batch and what is copied are looked at."""
_TELL_ONLY_OF_IT = frozenset("size numel dim ndim ndimension nelement len type is_cuda range".split())
"""What tells of a tensor, and holds none of its data."""
_OF_ITS_SHAPE = api.FACTORIES | api.LIKE_FACTORIES | {"new_zeros", "new_ones", "new_empty", "new_full", "new_tensor"}
_VIEWS = frozenset({"data", "T", "mT", "real", "imag"})
_FORGETS = frozenset({"fill_", "zero_", "normal_", "uniform_", "random_", "bernoulli_"})
"""Methods whose result holds nothing of what they are called on."""


class FromBatch(NamedTuple):
    """What a copy takes to the device."""

    batch: Value
    """The batch at its bottom."""
    by_torch: bool
    """Whether nothing but torch computed it, which the device can do as well."""


def computed_from_batch(site: Site) -> FromBatch | None:
    """What a call of `to` or `cuda` copies, where it is computed on the host from a loader's batch; else None."""
    receiver, values = site.receiver, site.file.project.values
    if receiver is None:
        return None
    value = values.of(receiver, site.frame)
    if value.kind != "tensor" or value.device != HOST or value.confidence is not Confidence.CERTAIN:
        return None
    found = _batch_below(values, receiver, site.frame)
    return found if found is not None and destination(values, site.call, site.frame)[0] == DEVICE else None


def _batch_below(values: Values, node: ast.expr, frame: Frame) -> FromBatch | None:
    """The batch that some of an expression's data comes from, where none comes from the device."""
    stack, by_torch = [(node, frame)], True
    seen: set[int] = set()
    batch: Value | None = None
    for _ in range(_MAX_PARTS):
        if not stack:
            break
        part, at = stack.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        value = values.of(part, at)
        brought = isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr == "cpu"
        if brought or (value.kind == "tensor" and value.device == DEVICE):
            return None  # a round trip: the copy down is what is wrong
        if is_host_batch(value):
            if TAKEN_IN in value.because:
                return None  # numbers, names and arrays are moved like that, too: no loader gives them
            batch = batch or value
            continue
        by_torch = by_torch and value.kind != "array" and not _leaves_torch(values, part, at)
        stack += _parts(values, part, at)
    return FromBatch(batch, by_torch) if batch is not None and not stack else None


def _leaves_torch(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether a call is one of a function of the project, or makes a tensor of arrays or numbers."""
    thing = values.thing(node.func, frame) if isinstance(node, ast.Call) else None
    if thing is None:
        return False
    name = thing.dotted.removeprefix("torch.")
    return thing.kind != "external" or name in api.HOST_DATA | api.LEGACY_TYPES


def _parts(values: Values, node: ast.expr, frame: Frame) -> Iterator[tuple[ast.expr, Frame]]:
    """What an expression takes its data from."""
    body = values.body(frame.path)
    if isinstance(node, ast.Name) and body is not None:
        for definition in body.reaching(frame.function, node.id, frame.at) or ():
            if definition.value is not None and definition.how in ("assign", "item", "augmented", "loop"):
                yield definition.value, frame._replace(at=body.at(definition.value))
    else:
        yield from ((part, frame) for part in _operands(node))


def _operands(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in _TELL_ONLY_OF_IT or name in _OF_ITS_SHAPE or name in _FORGETS:
            return []
        given = [argument for argument in node.args if not isinstance(argument, ast.Starred)]
        return [*given, node.func.value] if isinstance(node.func, ast.Attribute) else given
    if isinstance(node, ast.Attribute):
        return [node.value] if node.attr in _VIEWS else []
    if isinstance(node, ast.Subscript):
        return [node.value]
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    return [node.operand] if isinstance(node, ast.UnaryOp) else []
