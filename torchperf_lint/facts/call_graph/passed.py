"""Which argument of a call a parameter of the called function gets."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import CallSite
from torchperf_lint.facts.outlines.records import Function

if TYPE_CHECKING:
    from torchperf_lint.facts.values.value import Frame, Value
    from torchperf_lint.facts.values.values import Values

_PASSED = "passed by the call"
_LINKS = 6
"""Links of a reason that are told; of a longer one those in its middle are left out."""


def passed_by(path: str, line: int, because: str) -> str:
    """The reason of a value that a call passes, from the reason of that where the call stands."""
    return in_short(f"{_PASSED} at {path}:{line}: {because}")


def in_short(because: str) -> str:
    """A reason of many links, each after a colon: the nearest two, and the last ones, which say where it begins."""
    if because.count(": ") < _LINKS:
        return because
    links = because.split(": ")
    left_out, told = links[2 : 3 - _LINKS], (*links[:2], *links[3 - _LINKS :])
    between = any(_PASSED in link for link in left_out) and not any(_PASSED in link for link in told)
    return ": ".join((*links[:2], f"{_PASSED}s between" if between else "…", *links[3 - _LINKS :]))


def is_passed(value: Value) -> bool:
    """Whether that is the reason why a value is known."""
    return value.because.startswith(_PASSED)


def comes_by_a_call(value: Value) -> bool:
    """Whether it is a part of the reason: an attribute's value that was passed to a method."""
    return _PASSED in value.because


def call_at(values: Values, site: CallSite) -> ast.Call | None:
    """The syntax of a call somewhere in the project; None where its file shows none there."""
    body = values.body(site.path)
    return body.node_of(site.call) if body is not None else None


def by_place(function: Function) -> list[str]:
    """The names of the parameters that a call passes by their place, in order, without `self`."""
    return [parameter.name for parameter in function.parameters if not parameter.by_name][function.bound :]


def place_of(function: Function, name: str) -> int:
    """The place, from 0, of what a call passes for a parameter; -1 for the `self` that it does not pass, and where it
    passes it by name only."""
    position = [parameter.name for parameter in function.parameters].index(name)
    return -1 if function.parameters[position].by_name else position - function.bound


def argument_for(node: ast.Call, function: Function, name: str) -> ast.expr | None:
    """The argument that a call of `function` passes for a parameter, or None when it cannot be told."""
    return argument_of(node, place_of(function, name), name)


def argument_of(node: ast.Call, position: int, name: str) -> ast.expr | None:
    """The argument that a call passes for a parameter, or None when it cannot be told."""
    for keyword in node.keywords:
        if keyword.arg == name:
            return keyword.value
    for argument in node.args[: position + 1]:
        if isinstance(argument, ast.Starred):
            return None
    return node.args[position] if 0 <= position < len(node.args) else None


def spread_to(values: Values, node: ast.Call, position: int, frame: Frame) -> Value | None:
    """What `f(*pair)` passes at a place, where it is known what `pair` holds, one by one."""
    first = next((i for i, argument in enumerate(node.args) if isinstance(argument, ast.Starred)), None)
    if first is None or position < first:
        return None
    held = values.of(node.args[first], frame)
    return held.items[position - first] if position - first < len(held.items) else None
