"""What an annotation of a container promises of its elements: `list[dict[str, Tensor]]`, `tuple[Tensor, int]`."""

from __future__ import annotations

import ast
from functools import lru_cache

from torchperf_lint.facts.outlines.signatures import (
    CONTAINERS,
    DEPTH,
    MAPPINGS,
    PLAIN_TYPES,
    held,
    holds_tensors,
    is_ellipsis,
    is_tensor,
    parts_of,
)
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import ANYWHERE, PLAIN, UNKNOWN, Value, join, mapping, sequence, tensor

_WITH_AXES = ("float[", "int[", "bool[")
"""`x: float["b n d"]`, as files write it that never run their annotations: numbers have no elements."""


def contents(annotation: str, because: str) -> Value | None:
    """The container that an annotation promises, with the reason for its tensors; None where it holds none."""
    if "[" not in annotation:
        return None
    if annotation.startswith(_WITH_AXES):
        return tensor(ANYWHERE, because)
    node = _holding_tensors(annotation)
    return _promised(node, because, 0) if node is not None else None


@lru_cache(1 << 12)
def _holding_tensors(annotation: str) -> ast.expr | None:
    """An annotation of what holds tensors; None where it is none. A project writes the same few hundreds of times."""
    try:
        node = ast.parse(annotation, mode="eval").body
    except SyntaxError:
        return None
    return node if holds_tensors(node) else None


def _promised(node: ast.expr, because: str, depth: int) -> Value:
    if is_tensor(node):
        return tensor(ANYWHERE, because)
    if not isinstance(node, ast.Subscript) or depth >= DEPTH:
        return PLAIN if chain(node) in PLAIN_TYPES else UNKNOWN
    name = last_part(chain(node.value))
    if name not in CONTAINERS | MAPPINGS | {"Optional"}:
        return UNKNOWN
    items = tuple(_promised(part, because, depth + 1) for part in held(node))
    if name == "Optional":
        return items[0] if len(items) == 1 else UNKNOWN
    if name in MAPPINGS:
        return mapping(join(items))
    fixed = name in ("tuple", "Tuple") and not any(is_ellipsis(part) for part in parts_of(node))
    return sequence(join(items), items if fixed else ())
