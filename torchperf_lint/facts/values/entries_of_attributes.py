"""Entries of a dict that an object keeps, taken by a text: what its methods put there under that text.

    class Cut(Transform):                          # which keeps `self.drawn = {}`, and a flag on the device in it
        def draw(self, x):
            self.drawn["lengths"] = torch.randint(0, 9, (len(x),))

        def apply(self, x):
            return x[:, : self.drawn["lengths"][0]]
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.syntax.literals import is_text
from torchperf_lint.facts.values.value import Frame, Value, join

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_WRITES = 6
"""How many of the values that are put under one key are looked at."""


def entry_of_attribute(values: Values, node: ast.Subscript, base: Value, frame: Frame) -> Value | None:
    """What the class around, and those it derives from, put under the text; None where they may put in anything."""
    kept = node.value
    if not isinstance(kept, ast.Attribute) or not isinstance(kept.value, ast.Name) or not is_text(node.slice):
        return None
    own = values.index.class_of(frame.path, frame.function)
    if own is None or kept.value.id != "self":
        return None
    key, name = node.slice.value, f"self.{kept.attr}"  # type: ignore[attr-defined]
    found: list[tuple[str, int, ast.expr]] = []
    for cls in values.index.ancestry(own):
        body = values.body(cls.path) if cls.kind == "class" else None
        for method in values.index.record(cls).methods.values() if body is not None else ():
            put = body.put_under(method, name)  # type: ignore[union-attr]
            if len(body.stored_items(method, name)) > sum(map(len, put.values())):  # type: ignore[union-attr]
                return None  # `self.drawn[name] = value`
            found += [(cls.path, method, value) for value in put.get(key, ())]
    if not 0 < len(found) <= _WRITES:
        return None
    literal = [value for named, value in base.entries if named == key]
    return join([*literal, *(_put(values, path, method, value, frame) for path, method, value in found)])


def _put(values: Values, path: str, method: int, value: ast.expr, frame: Frame) -> Value:
    body = values.body(path)
    assert body is not None
    there = frame.hop(path, method, body.at(value))
    return values.remembered(("kept entry", *there[:3]), there, lambda at: values.of(value, at))
