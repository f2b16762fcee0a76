"""What is None unless it is given something: attributes, `self.dim = dim` of `dim=None`, and options of a program.

What is for None, `if dim is None:` in a helper that is given `self.dim`, is what runs by default.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.option_declarations import declared_in, default, may_declare, option_named
from torchperf_lint.facts.bindings.unset_options import none_by_default
from torchperf_lint.facts.call_graph.index import FunctionKey, Index
from torchperf_lint.facts.syntax.literals import is_none


def left_none(index: Index, body_of: Callable[[str], Body | None], caller: FunctionKey, value: ast.expr) -> bool:
    """Whether an argument is an option of the caller's file that is None by default, or, in a method, an attribute of
    its object that may be None by how that is constructed."""
    if option_named(value) and _is_unset_option(index, body_of, caller.path, option_named(value)):
        return True
    own = index.class_of(*caller) if isinstance(value, ast.Attribute) else None
    if own is None or not isinstance(value, ast.Attribute) or not isinstance(value.value, ast.Name):
        return False
    constructor = index.method(own, "__init__")
    body = body_of(constructor.path) if constructor is not None and value.value.id == "self" else None
    if body is None or constructor is None:
        return False
    unset = none_by_default(body.functions.get(constructor.index))
    return any(_keeps_none(kept, unset) for kept, _ in body.self_assigned(constructor.index, value.attr))


def _is_unset_option(index: Index, body_of: Callable[[str], Body | None], path: str, name: str) -> bool:
    """`parser.add_argument("--clip-grad", type=float)`, with `default=None` or without a default."""
    outline = index.outlines[path]
    body = body_of(path) if may_declare(outline) else None
    declared = [default(call) for call in declared_in(outline, body, name)] if body is not None else []
    return any(one is None or is_none(one) for one in declared)


def _keeps_none(kept: ast.expr, unset: frozenset[str]) -> bool:
    """`dim`, and `tuple(dim) if isinstance(dim, Sequence) else dim`."""
    if isinstance(kept, ast.IfExp):
        return _keeps_none(kept.body, unset) or _keeps_none(kept.orelse, unset)
    return is_none(kept) or (isinstance(kept, ast.Name) and kept.id in unset)
