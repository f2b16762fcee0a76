"""Devices in keywords that a call spreads: `x.to(**self.like)` after `self.like = dict(dtype=dtype, device=device)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchperf_lint.facts.outlines.records import END_OF_FILE
from torchperf_lint.facts.syntax.arguments import keyword
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.literals import is_literal
from torchperf_lint.facts.values.value import Frame

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values



def spreads(node: ast.Call) -> bool:
    """Whether a call is given keywords that are written elsewhere."""
    return any(given.arg is None for given in node.keywords)


def spread_device(values: Values, node: ast.Call, frame: Frame) -> tuple[ast.expr, Frame] | None:
    """The device among the keywords that a call spreads, and where it is written; None where it cannot be seen."""
    for given in node.keywords:
        for made, at in _bound(values, given.value, frame) if given.arg is None else ():
            device = _device_in(made)
            if device is not None:
                return device, at
    return None


def _bound(values: Values, node: ast.expr, frame: Frame) -> Iterator[tuple[ast.expr, Frame]]:
    """What a dict is made of: itself, what its name is bound to, or what the methods of its class set it to."""
    yield node, frame
    body = values.body(frame.path)
    if isinstance(node, ast.Name) and body is not None:
        reaching = body.reaching(frame.function, node.id, frame.at)
        scope = frame.function
        if reaching is None and scope:
            scope, reaching = 0, body.reaching(0, node.id, END_OF_FILE)
        for d in reaching or ():
            if d.how == "assign" and d.value is not None:
                yield d.value, frame.hop(frame.path, scope, body.at(d.value))
    elif isinstance(node, ast.Attribute) and chain(node.value) == "self":
        yield from _set_on_self(values, node.attr, frame)


def _set_on_self(values: Values, name: str, frame: Frame) -> Iterator[tuple[ast.expr, Frame]]:
    own = values.index.class_of(frame.path, frame.function)
    for cls in values.index.ancestry(own) if own is not None else ():
        body = values.body(cls.path) if cls.kind == "class" else None
        for method in values.index.record(cls).methods.values() if body is not None else ():
            assert body is not None
            for made, _ in body.self_assigned(method, name):
                yield made, frame.hop(cls.path, method, body.at(made))


def _device_in(node: ast.expr) -> ast.expr | None:
    """The device of `dict(device=device)` or `{"device": device}`."""
    if isinstance(node, ast.Call):
        return keyword(node, "device") if chain(node.func) == "dict" else None
    if not isinstance(node, ast.Dict):
        return None
    return next(
        (v for k, v in zip(node.keys, node.values, strict=True) if k is not None and is_literal(k, "device")), None
    )
