"""What a constructor was given: numbers that a helper makes a host tensor of, and tensors of its caller's."""

from __future__ import annotations

import ast

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, is_passed
from torchperf_lint.facts.constants.constants import is_configured
from torchperf_lint.facts.copies.host_data import Made, made_on_host
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values.value import DEVICE, MAX_HOPS, Frame, Value
from torchperf_lint.facts.values.values import Values
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_MAX_ENDS = 12
_TENSOR = pattern(r"(?:torch\.)?Tensor")


def converted(values: Values, node: ast.expr, frame: Frame) -> Made | None:
    """The factory in a helper of the project that makes a host tensor of numbers: `to_tensor(class_weights)`.

    What the helper hands back as it came, a tensor already, has to be shown to be numbers by the caller.
    """
    if not isinstance(node, ast.Call) or frame.hops >= MAX_HOPS:
        return None
    targets = values.types.targets(frame.path, frame.function, chain(node.func))
    key = targets[0] if len(targets) == 1 else None
    body = values.body(key.path) if key is not None else None
    if key is None or body is None or not body.returns(key.index):
        return None
    found: list[Made] = []
    for result in body.returns(key.index):
        for end in _ends(values, result, frame.hop(key.path, key.index, body.at(result))):
            if isinstance(end, Made):
                found.append(end)
            elif end is None or not _given_numbers(values, node, key, end, frame):
                return None
    return found[0] if found else None


def _ends(values: Values, node: ast.expr, frame: Frame) -> list[Made | str | None]:
    """Where a result may come from: factories, the names of parameters, and None for anything else."""
    found: list[Made | str | None] = []
    pending, seen = [(node, frame)], set[tuple[str, int, int]]()
    body = values.body(frame.path)
    parameters = {p.name for p in values.index.outlines[frame.path].functions[frame.function].parameters}
    while pending and body is not None and len(seen) <= _MAX_ENDS:
        node, frame = pending.pop()
        made = made_on_host(values, node, frame)
        below = _below(node)
        if made is not None or below is None:
            found.append(made)
            continue
        if (below.id, *frame.at) in seen:
            continue
        seen.add((below.id, *frame.at))
        reaching = body.reaching(frame.function, below.id, frame.at) or []
        if below.id in parameters and all(d.block for d in reaching):
            found.append(below.id)
        elif not reaching:
            found.append(None)
        for d in reaching:
            known = d.value is not None and d.how == "assign"
            pending += [(d.value, frame._replace(at=body.at(d.value)))] if known and d.value is not None else []
            found += [] if known else [None]
    return found if len(seen) <= _MAX_ENDS else [None]


def _below(node: ast.expr) -> ast.Name | None:
    """The name below methods that keep a tensor where it is."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in api.DERIVING:
        node = node.func.value
    return node if isinstance(node, ast.Name) else None


def _given_numbers(values: Values, node: ast.Call, key: FunctionKey, parameter: str, frame: Frame) -> bool:
    """Whether a call passes a parameter numbers, or a list of them: by what is written, or by an annotation."""
    argument = argument_for(node, values.index.function(key), parameter)
    return argument is not None and is_configured(values, argument, frame)


def given_tensor(values: Values, node: ast.expr, frame: Frame) -> Value | None:
    """The tensor that a constructor's caller hands in, by its annotation; None where callers put it on a device."""
    below = _below(node)
    record = values.index.outlines[frame.path].functions[frame.function]
    if below is None or record.name != "__init__" or all(p.name != below.id for p in record.parameters):
        return None
    value = values.of(node, frame)
    if value.kind != "tensor" or value.device == DEVICE:
        return None
    told = next(p.annotation for p in record.parameters if p.name == below.id)
    passed = is_passed(value) and _TENSOR.fullmatch(told) is not None
    annotated = value.because.startswith(f"`{below.id}` is annotated") and value.confidence is Confidence.CERTAIN
    return value if annotated or passed else None
