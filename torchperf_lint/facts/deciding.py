"""Which names of a function decide what it does next: those in its tests, slices, sizes and counts."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchperf_lint.facts import guards
from torchperf_lint.facts import torch_api as api
from torchperf_lint.facts.chains import chain

_ROUNDS = 3
"""How many names may stand between a value and what it decides."""
_SIZED = frozenset(
    "range zeros ones empty full arange linspace view reshape expand repeat split chunk narrow pad interpolate randint "
    "new_zeros new_ones new_empty new_full unflatten islice tile resize crop randperm bincount one_hot".split()
)
"""Functions whose arguments are sizes, counts or bounds."""
_ABOUT = api.PLAIN_ATTRIBUTES | {"device", "dtype"}
_ASKS_ABOUT = frozenset(
    "len isinstance hasattr callable type is_tensor size dim ndimension numel nelement stride is_contiguous "
    "is_floating_point is_complex get_device element_size".split()
)
"""What the host knows of a tensor without waiting for its elements, nor for those of a copy of it."""


def decisive_names(body: Sequence[ast.stmt]) -> set[str]:
    """The names and attributes whose values a scope uses in tests, slices, sizes and counts, also through others."""
    found: set[str] = set()
    made_of: list[tuple[set[str], set[str]]] = []
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        found.update(_values_in(*_deciding_parts(node)))
        made_of += _made_of(node)
        stack += ast.iter_child_nodes(node)
    for _ in range(_ROUNDS):
        found.update(name for targets, names in made_of if targets & found for name in names)
    return found


def _made_of(node: ast.AST) -> list[tuple[set[str], set[str]]]:
    """(targets, what they are made of) of an assignment or loop."""
    if isinstance(node, ast.Assign):
        return [(set(_values_in(*map(_given, node.targets))), set(_values_in(node.value)))]
    if isinstance(node, ast.For | ast.comprehension):
        # Of `for key, value in x.items()` and `for i, value in enumerate(x)` the value is what `x` is made of.
        target = node.target.elts[-1] if isinstance(node.target, ast.Tuple) else node.target
        return [(set(_values_in(target)), set(_values_in(node.iter)))]
    return []


def _given(target: ast.expr) -> ast.expr:
    """What an assignment gives another value: of `x[i] = v` that is `x`, and not `i`."""
    while isinstance(target, ast.Subscript):
        target = target.value
    return target


def _values_in(*nodes: ast.AST) -> Iterator[str]:
    """The names and chains in some expressions whose elements matter: not those only asked for shape, type or None."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name | ast.Attribute) and chain(node) not in ("self", "cls"):
            if isinstance(node, ast.Attribute) and node.attr in _ABOUT:
                continue
            yield chain(node)
        if not _asks_about(node):
            stack += ast.iter_child_nodes(node)


def _asks_about(node: ast.AST) -> bool:
    """`len(x)`, `x.size(0)`, `isinstance(x, T)`, `x is None`."""
    if isinstance(node, ast.Compare):
        return all(isinstance(op, ast.Is | ast.IsNot) for op in node.ops)
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in _ASKS_ABOUT


def _deciding_parts(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.If) and (guards.exit_kind(node.body) == "raise" or guards.checks_for_nan(node.test)):
        return []  # a safety check, not the algorithm
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        return [node.test]
    if isinstance(node, ast.Subscript):
        return [node.slice]
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return [*node.args, *node.keywords] if name in _SIZED else []
    return []
