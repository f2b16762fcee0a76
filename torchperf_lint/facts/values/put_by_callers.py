"""Entries of a mapping that each caller puts there before it hands the mapping over.

    state["RMS"] = self._rms(p)                     def _get_lr(group, state):
    lr = self._get_lr(group, state)                     return max(group["eps"][1], state["RMS"])

As optimizers do with the state of a parameter, and passes with what they have computed so far. What else is in the
mapping, and where it comes from, does not matter: what was put there last, and always, is there.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.syntax.literals import is_text
from torchperf_lint.facts.values.entries import put_there
from torchperf_lint.facts.values.usage import value_by_uses
from torchperf_lint.facts.values.value import UNKNOWN, Frame, Value, join

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_MOST = 4
"""Callers that are looked at."""


def entry_of_unknown(values: Values, node: ast.Subscript, frame: Frame) -> Value:
    """What is known of an item of something unknown: by what callers put there, or by what is done with it."""
    put = put_by_callers(values, node, frame)
    return put if put.kind == "tensor" else value_by_uses(values, node, frame)


def put_by_callers(values: Values, node: ast.Subscript, frame: Frame) -> Value:
    """What is under the text that `node` asks a parameter for, where it is a tensor in all calls; else unknown."""
    body = values.body(frame.path)
    if body is None or not isinstance(node.value, ast.Name) or not is_text(node.slice):
        return UNKNOWN
    name, key = node.value.id, FunctionKey(frame.path, frame.function)
    record = values.index.function(key)
    if all(parameter.name != name for parameter in record.parameters) or body.definitions(frame.function).get(name):
        return UNKNOWN
    if body.put_under(frame.function, name).get(node.slice.value):  # type: ignore[attr-defined]
        return UNKNOWN
    sites = values.hotness.callers.get(key, ())
    found = [_put_before(values, node, site, name, frame) for site in sites[: _MOST + 1]]
    if not found or len(found) > _MOST or any(one.kind != "tensor" for one in found):
        return UNKNOWN
    return join(found)


def _put_before(values: Values, node: ast.Subscript, site: CallSite, name: str, frame: Frame) -> Value:
    """What a caller has always put there before it calls."""
    body, call = values.body(site.path), call_at(values, site)
    record = values.index.function(FunctionKey(frame.path, frame.function))
    given = argument_for(call, record, name) if call is not None else None
    if body is None or call is None or not isinstance(given, ast.Name):
        return UNKNOWN
    there = frame.hop(site.path, site.call.function, body.at(call))
    put, always = put_there(values, given.id, node.slice.value, there)  # type: ignore[attr-defined]
    return join(put) if always else UNKNOWN
