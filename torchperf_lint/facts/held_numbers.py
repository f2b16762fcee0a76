"""Attributes that are one number of the host, whichever method sets them: `self.depth = depth`, `self.depth = n`."""

from __future__ import annotations

import ast
from collections.abc import Callable

from torchperf_lint.facts.chains import chain
from torchperf_lint.facts.held import set_from_outside
from torchperf_lint.facts.value import Frame
from torchperf_lint.facts.values import MAX_HOPS, Values


def holds_a_number(
    values: Values, node: ast.Attribute, frame: Frame, is_number: Callable[[ast.expr, Frame], bool]
) -> bool:
    """Whether all that the methods of a class ever put into an attribute of `self` are numbers, which no one else sets.

    :param is_number: whether an expression is a number of the host
    """
    own = values.index.class_of(frame.path, frame.function)
    if own is None or frame.hops >= MAX_HOPS or values.thing(node.value, frame) != own:
        return False
    if values.of(node, frame).kind != "plain" or set_from_outside(values, own, node):
        return False
    put: list[bool] = []
    for cls in values.index.ancestry(own):
        body = values.body(cls.path) if cls.kind == "class" else None
        for function in values.index.record(cls).methods.values() if body is not None else ():
            assert body is not None
            if f"{chain(node)}[" in body.augmented(function):
                return False
            set_there = (value for name, value, _ in body.self_assignments(function) if name == node.attr)
            put += [is_number(value, frame.hop(cls.path, function, body.at(value))) for value in set_there]
    return bool(put) and all(put)
