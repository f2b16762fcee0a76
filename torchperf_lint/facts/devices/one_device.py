"""What torch joins lies on one device: a part that is on the host says where all of them are.

    pairs = torch.zeros(0, 2)
    for rows in groups:
        pairs = torch.cat([pairs, torch.combinations(rows)])
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.values.value import DEVICE, HOST, Frame, Value
from torchperf_lint.model import Confidence

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_MAKE = api.FACTORIES | api.HOST_DATA | api.LEGACY_TYPES
_JOINS = frozenset(
    "torch.cat torch.concat torch.concatenate torch.stack torch.hstack torch.vstack torch.dstack".split()
)


def joined_on_one_host(values: Values, call: ast.Call, dotted: str, joined: Value, frame: Frame) -> bool:
    """Whether torch joins parts one of which the function makes on the host, and none is known to be elsewhere."""
    parts = call.args[0].elts if call.args and isinstance(call.args[0], ast.List | ast.Tuple) else []
    if dotted not in _JOINS or any(part.device == DEVICE for part in joined.items):
        return False
    return any(_is_made_here(values, part, frame) or _begins_on_host(values, part, frame) for part in parts)


def _is_made_here(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether an expression makes a tensor on the host, or copies it there.

    What callers pass, and what functions return, may be elsewhere for other callers.
    """
    body = values.body(frame.path)
    if isinstance(node, ast.Name) and body is not None:
        bound = body.reaching(frame.function, node.id, frame.at) or []
        made = bound[0].value if len(bound) == 1 and bound[0].how == "assign" else None
        return isinstance(made, ast.Call) and _is_made_here(values, made, frame.back(bound[0].at, bound[0].end))
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute | ast.Name):
        return False
    thing = values.thing(node.func, frame)
    copies = thing is None and isinstance(node.func, ast.Attribute) and node.func.attr in ("cpu", "to")
    makes = thing is not None and thing.kind == "external" and thing.dotted.removeprefix("torch.") in _MAKE
    found = values.of(node, frame) if copies or makes else None
    return found is not None and (found.kind, found.device, found.confidence) == ("tensor", HOST, Confidence.CERTAIN)


def _begins_on_host(values: Values, name: ast.expr, frame: Frame) -> bool:
    """Whether a name is bound to what is made on the host, and else only to that with more behind it."""
    body = values.body(frame.path)
    if not isinstance(name, ast.Name) or body is None:
        return False
    bound = body.reaching(frame.function, name.id, frame.at) or []
    first = [d for d in bound if not _grows(d, name.id)]
    if not first or len(first) == len(bound):
        return False
    return all(
        d.how == "assign" and d.value is not None and _is_made_here(values, d.value, frame.back(d.at, d.end))
        for d in first
    )


def _grows(d: Definition, name: str) -> bool:
    """`pairs = torch.cat([pairs, more])`."""
    value = d.value if d.how == "assign" else None
    parts = value.args[0] if isinstance(value, ast.Call) and value.args else None
    return isinstance(parts, ast.List | ast.Tuple) and any(
        isinstance(part, ast.Name) and part.id == name for part in parts.elts
    )
