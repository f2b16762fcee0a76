"""Attributes that are one number of the host, whichever method sets them: `self.depth = depth`, `self.depth = n`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.constants.held import set_from_outside
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.literals import is_none
from torchperf_lint.facts.values.value import MAX_HOPS, Frame
from torchperf_lint.facts.values.values import Values

_IsNumber = Callable[[ast.expr, Frame], bool]


def holds_a_number(values: Values, node: ast.Attribute, frame: Frame, is_number: _IsNumber) -> bool:
    """Whether all that the methods of a class ever put into an attribute of `self` are numbers, which no one else sets.

    :param is_number: whether an expression is a number of the host
    """
    own = values.index.class_of(frame.path, frame.function)
    if own is None or frame.hops >= MAX_HOPS or values.thing(node.value, frame) != own:
        return False
    if values.of(node, frame).kind != "plain" or set_from_outside(values, own, node):
        return False
    put: list[bool] = []
    for body, path, function in _methods(values, own):
        if _added(body, function, chain(node)):
            return False
        set_there = (value for value, _ in body.self_assigned(function, node.attr))
        put += [is_number(value, frame.hop(path, function, body.at(value))) for value in set_there]
    return bool(put) and all(put)


def is_set_to_no_other(values: Values, node: ast.Attribute, frame: Frame, is_number: _IsNumber) -> bool:
    """Whether all that the methods of a class put into an attribute of `self` are numbers, or what they were given.

    So also where none of them sets it: what it is called has to say that it is a number.
    """
    own = values.index.class_of(frame.path, frame.function)
    for body, path, function in _methods(values, own) if own is not None else ():
        put = list(_added(body, function, chain(node)))
        for value, registered in body.self_assigned(function, node.attr):
            given = not registered and _is_given(values, body, path, function, value)
            put += [value] if not given and not is_none(value) else []
        if put and frame.hops >= MAX_HOPS:
            return False
        if not all(is_number(value, frame.hop(path, function, body.at(value))) for value in put):
            return False
    return True


def _is_given(values: Values, body: Body, path: str, function: int, value: ast.expr) -> bool:
    """Whether a value is a parameter of its function that nothing has bound anew before."""
    if not isinstance(value, ast.Name) or body.reaching(function, value.id, body.at(value)):
        return False
    parameters = values.index.outlines[path].functions[function].parameters
    return any(parameter.name == value.id for parameter in parameters)


def _methods(values: Values, own: Thing) -> Iterator[tuple[Body, str, int]]:
    """The methods of a class and of what it derives from, as (body of the file, path, function)."""
    for cls in values.index.ancestry(own):
        body = values.body(cls.path) if cls.kind == "class" else None
        if body is not None:
            yield from ((body, cls.path, function) for function in values.index.record(cls).methods.values())


def _added(body: Body, function: int, written: str) -> list[ast.expr]:
    """What a function adds to an attribute: `self.count += 1`; multiplies it by, and the like."""
    augmented = f"{written}[" in body.augmented(function)
    changes = (s for s in body.statements(function) if isinstance(s, ast.AugAssign)) if augmented else ()
    return [change.value for change in changes if chain(change.target) == written]
