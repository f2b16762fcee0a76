"""What an annotation of a container promises of its elements: `list[dict[str, Tensor]]`, `tuple[Tensor, int]`."""

from __future__ import annotations

import ast

from torchperf_lint.facts.chains import chain, last_part
from torchperf_lint.facts.value import ANYWHERE, PLAIN, UNKNOWN, Value, join, sequence, tensor

CONTAINERS = frozenset({"tuple", "Tuple", "list", "List", "Sequence", "Iterable"})
MAPPINGS = frozenset({"dict", "Dict", "Mapping"})
_PLAIN = frozenset({"int", "float", "bool", "str"})
_DEPTH = 5
"""Containers within each other; what is further in counts as unknown."""


def contents(annotation: str, because: str) -> Value | None:
    """The container that an annotation promises, with the reason for its tensors; None where it holds none."""
    if "[" not in annotation:
        return None
    try:
        node = ast.parse(annotation, mode="eval").body
    except SyntaxError:
        return None
    return _promised(node, because, 0) if holds_tensors(node) else None


def holds_tensors(node: ast.expr, depth: int = 0) -> bool:
    """Whether an annotation names a container that holds tensors, at some depth; a dict's keys are text or numbers."""
    if not isinstance(node, ast.Subscript) or depth >= _DEPTH:
        return False
    if last_part(chain(node.value)) not in CONTAINERS | MAPPINGS | ({"Optional"} if depth else set()):
        return False
    return any(_is_tensor(part) or holds_tensors(part, depth + 1) for part in _held(node))


def _promised(node: ast.expr, because: str, depth: int) -> Value:
    if _is_tensor(node):
        return tensor(ANYWHERE, because)
    if not isinstance(node, ast.Subscript) or depth >= _DEPTH:
        return PLAIN if chain(node) in _PLAIN else UNKNOWN
    name = last_part(chain(node.value))
    if name not in CONTAINERS | MAPPINGS | {"Optional"}:
        return UNKNOWN
    items = tuple(_promised(part, because, depth + 1) for part in _held(node))
    if name == "Optional":
        return items[0] if len(items) == 1 else UNKNOWN
    fixed = name in ("tuple", "Tuple") and not any(_is_ellipsis(part) for part in _parts(node))
    return sequence(join(items), items if fixed else ())


def _held(node: ast.Subscript) -> list[ast.expr]:
    """What the elements of a container are annotated as."""
    parts = _parts(node)
    if last_part(chain(node.value)) in MAPPINGS:
        return parts[1:] if len(parts) == 2 and chain(parts[0]) in _PLAIN else []
    return [_not_none(part) for part in parts if not _is_ellipsis(part)]


def _parts(node: ast.Subscript) -> list[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _not_none(node: ast.expr) -> ast.expr:
    """`X` of `X | None`."""
    none = isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant) and node.right.value is None
    return node.left if none and isinstance(node, ast.BinOp) else node


def _is_tensor(node: ast.expr) -> bool:
    return last_part(chain(node)) == "Tensor"


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is Ellipsis
