"""Whether a parameter is a tensor, or a boolean one, by its function's documentation; asked by name and kept."""

from __future__ import annotations

import ast
from weakref import WeakKeyDictionary

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.outlines.documented import documented, documented_masks

_known: WeakKeyDictionary[Body, dict[int, frozenset[str]]] = WeakKeyDictionary()
_masks: WeakKeyDictionary[Body, dict[int, frozenset[str]]] = WeakKeyDictionary()


def is_documented_tensor(body: Body, function: int, name: str) -> bool:
    """Whether the documentation of a function says of a parameter that it is a tensor, and nothing besides."""
    known = _known.setdefault(body, {})
    if function not in known:
        node = body.functions.get(function)
        known[function] = frozenset(documented(node) if isinstance(node, ast.FunctionDef) else ())
    return name in known[function]


def is_documented_mask(body: Body, function: int, name: str) -> bool:
    """Whether the documentation of a function says of a parameter that it is a boolean mask."""
    known = _masks.setdefault(body, {})
    if function not in known:
        node = body.functions.get(function)
        known[function] = documented_masks(node) if isinstance(node, ast.FunctionDef) else frozenset()
    return name in known[function]
