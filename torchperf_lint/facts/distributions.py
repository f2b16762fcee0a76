"""Draws from a distribution of `torch.distributions` that was made of numbers: they come to be on the host."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.attributes import setters
from torchperf_lint.facts.value import ANYWHERE, HOST, Frame
from torchperf_lint.model import Confidence

if TYPE_CHECKING:
    from torchperf_lint.facts.values import Values

DISTRIBUTIONS = "distributions."
_MODULE = f"torch.{DISTRIBUTIONS}"
_DRAWS = frozenset({"sample", "rsample"})


def drawn_on_host(values: Values, node: ast.Call, frame: Frame) -> str | None:
    """`distributions.Beta(...).sample`, where a call draws from what was made of numbers or host tensors; else None."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in _DRAWS:
        return None
    made = _made(values, node.func.value, frame)
    if made is None:
        return None
    call, at, name = made
    given = [*call.args, *(k.value for k in call.keywords if k.arg != "validate_args")]
    if not given or not all(_on_host(values, argument, at) for argument in given):
        return None
    return f"{DISTRIBUTIONS}{name}(...).{node.func.attr}"


def _made(values: Values, node: ast.expr, frame: Frame) -> tuple[ast.Call, Frame, str] | None:
    """The call that made a distribution, where it stands, and the distribution's name."""
    if isinstance(node, ast.Name):
        return _bound(values, node, frame)
    if isinstance(node, ast.Attribute):
        return _held(values, node, frame)
    thing = values.thing(node.func, frame) if isinstance(node, ast.Call) else None
    if thing is None or thing.kind != "external" or not thing.dotted.startswith(_MODULE):
        return None
    assert isinstance(node, ast.Call)
    return node, frame, thing.dotted.rpartition(".")[2]


def _bound(values: Values, node: ast.Name, frame: Frame) -> tuple[ast.Call, Frame, str] | None:
    body = values.body(frame.path)
    reaching = body.reaching(frame.function, node.id, frame.at) if body is not None else None
    if body is None or not reaching or len(reaching) != 1 or reaching[0].how != "assign":
        return None
    value = reaching[0].value
    at = frame.hop(frame.path, frame.function, reaching[0].at)
    return _made(values, value, at) if isinstance(value, ast.Call) else None


def _held(values: Values, node: ast.Attribute, frame: Frame) -> tuple[ast.Call, Frame, str] | None:
    """What the one assignment of an attribute, `self.beta = Beta(a, a)`, makes."""
    own = values.index.class_of(frame.path, frame.function)
    if own is None or not isinstance(node.value, ast.Name) or values.thing(node.value, frame) != own:
        return None
    found = [
        (cls.path, function, value)
        for cls in values.index.ancestry(own)
        if cls.kind == "class"
        for function, value, _ in setters(values, cls, node.attr)
    ]
    if len(found) != 1 or not isinstance(found[0][2], ast.Call):
        return None
    path, function, value = found[0]
    body = values.body(path)
    return _made(values, value, frame.hop(path, function, body.at(value))) if body is not None else None


def _on_host(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether a parameter of a distribution is a number or a tensor on the host; of `tensor(alpha)`, too."""
    if isinstance(node, ast.Constant):
        return True
    value = values.of(node, frame)
    if isinstance(node, ast.Call) and (value.kind == "unknown" or value.device == ANYWHERE):
        numbers = all(_on_host(values, argument, frame) for argument in node.args)
        return bool(node.args) and not node.keywords and numbers
    on_host = value.kind == "tensor" and value.device == HOST and value.confidence is Confidence.CERTAIN
    return value.kind == "plain" or on_host
