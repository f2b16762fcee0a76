"""The device in what a call spreads: `x.to(**self.tpdv)`, where `self.tpdv = dict(dtype=torch.float32, device=d)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchperf_lint.facts.literals import is_literal
from torchperf_lint.facts.value import Frame

if TYPE_CHECKING:
    from torchperf_lint.facts.values import Values


def spread_entry(values: Values, node: ast.Call, name: str, frame: Frame) -> tuple[ast.expr, Frame] | None:
    """What `f(**settings)` passes by one name, and where that is written; None where the dict is not known."""
    spread = [k.value for k in node.keywords if k.arg is None]
    made = list(_dicts(values, spread[0], frame)) if len(spread) == 1 else []
    entries = [(entry, at) for found, at in made for entry in _entries(found, name)]
    return entries[0] if len(made) == len(entries) == 1 else None


def _dicts(values: Values, node: ast.expr, frame: Frame) -> Iterator[tuple[ast.expr, Frame]]:
    """The literal dict that an expression stands for, and where it is written."""
    if isinstance(node, ast.Dict) or (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        yield node, frame
    elif isinstance(node, ast.Name):
        yield from _bound(values, node.id, frame)
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        yield from _held(values, node, frame)


def _bound(values: Values, name: str, frame: Frame) -> Iterator[tuple[ast.expr, Frame]]:
    body = values.body(frame.path)
    for made in (body.reaching(frame.function, name, frame.at) if body is not None else None) or ():
        if made.how == "assign" and made.value is not None:
            yield made.value, frame.back(made.at, made.end)


def _held(values: Values, node: ast.Attribute, frame: Frame) -> Iterator[tuple[ast.expr, Frame]]:
    """What the methods of an object's class put into an attribute of it."""
    own = values.thing(node.value, frame)
    for cls in values.index.ancestry(own) if own is not None and own.kind == "instance" else ():
        body = values.body(cls.path) if cls.kind == "class" else None
        if body is None:
            continue
        for method in values.index.record(cls).methods.values():
            for value, _ in body.self_assigned(method, node.attr):
                yield value, frame.hop(cls.path, method, body.at(value))


def _entries(node: ast.expr, name: str) -> Iterator[ast.expr]:
    """The entry of `{"device": d}` or `dict(device=d)`."""
    if isinstance(node, ast.Dict):
        yield from (v for k, v in zip(node.keys, node.values, strict=True) if is_literal(k, name))
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        yield from (k.value for k in node.keywords if k.arg == name)
