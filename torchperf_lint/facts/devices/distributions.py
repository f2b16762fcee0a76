"""Draws from a distribution of `torch.distributions` that was made of numbers: they come to be on the host."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchperf_lint.facts.values.bound_to import Bound, attribute_bound_to, name_bound_to
from torchperf_lint.facts.values.value import ANYWHERE, HOST, Frame
from torchperf_lint.model import Confidence

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

DISTRIBUTIONS = "distributions."
_MODULE = f"torch.{DISTRIBUTIONS}"
_DRAWS = frozenset({"sample", "rsample"})


def drawn_on_host(values: Values, node: ast.Call, frame: Frame) -> str | None:
    """`distributions.Beta(...).sample`, where a call draws from what was made of numbers or host tensors; else None."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in _DRAWS:
        return None
    made = distribution_made(values, node.func.value, frame)
    if made is None:
        return None
    call, at, name = made
    given = [*call.args, *(k.value for k in call.keywords if k.arg != "validate_args")]
    if not given or not all(_on_host(values, argument, at) for argument in given):
        return None
    return f"{DISTRIBUTIONS}{name}(...).{node.func.attr}"


def draws_a_share(values: Values, node: ast.Call, frame: Frame) -> bool:
    """Whether a call draws from a `Beta` of which nothing says that it was made of tensors: the share of a mixture."""
    made = distribution_made(values, node.func.value, frame) if isinstance(node.func, ast.Attribute) else None
    if made is None or made[2] != "Beta":
        return False
    call, at, _ = made
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return all(values.of(argument, at).kind != "tensor" for argument in given)


def distribution_made(values: Values, node: ast.expr, frame: Frame) -> tuple[ast.Call, Frame, str] | None:
    """The call that made a distribution, where it stands, and the distribution's name."""
    if isinstance(node, ast.Name | ast.Attribute):
        found = list(_bound(values, node, frame))
        only = found[0] if len(found) == 1 else None
        if only is None or not isinstance(only.value, ast.Call):
            return None
        return distribution_made(values, only.value, only.frame)
    thing = values.thing(node.func, frame) if isinstance(node, ast.Call) else None
    if thing is None or thing.kind != "external" or not thing.dotted.startswith(_MODULE):
        return None
    assert isinstance(node, ast.Call)
    return node, frame, thing.dotted.rpartition(".")[2]


def _bound(values: Values, node: ast.Name | ast.Attribute, frame: Frame) -> Iterator[Bound]:
    """What this function binds a name to, or what `self.beta` is set to by the methods of its class."""
    if isinstance(node, ast.Name):
        own = frame.function
        found = name_bound_to(values, node.id, frame)
        yield from (b for b in found if b.frame.function == own and not b.default)
        return
    cls = values.index.class_of(frame.path, frame.function)
    if cls is not None and isinstance(node.value, ast.Name) and values.thing(node.value, frame) == cls:
        yield from attribute_bound_to(values, cls, node.attr, frame)


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
