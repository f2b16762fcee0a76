"""Parameters that every caller gives a tensor on the host: `x.device` in such a helper is the host, too.

A device that no caller gives, `device=None`, leaves what is made there on the host as well.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.hints import default_of
from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.devices.defaults import default_device
from torchperf_lint.facts.outlines.records import Function
from torchperf_lint.facts.syntax.arguments import unpacks_keywords
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.facts.syntax.literals import is_none
from torchperf_lint.facts.values.meant_for_host import says_host
from torchperf_lint.facts.values.value import HOST, MAX_HOPS, Frame
from torchperf_lint.facts.values.values import Values

_MAX_CALLERS = 4
_MAX_CALLS = 16
"""Calls looked at for a device that they give."""


def given_on_host(values: Values, device: ast.expr, frame: Frame) -> bool:
    """Whether `device` is written `x.device`, of a parameter `x` that all callers give a tensor on the host.

    Or is a parameter that none gives: its default is None.
    """
    if isinstance(device, ast.Name):
        return given_by_none(values, device.id, frame) and default_device(values, frame) == HOST
    if not isinstance(device, ast.Attribute) or device.attr != "device" or not isinstance(device.value, ast.Name):
        return False
    key = FunctionKey(frame.path, frame.function)
    name, record = device.value.id, values.index.function(key)
    sites = values.hotness.callers.get(key, ())
    if all(p.name != name for p in record.parameters) or not 0 < len(sites) <= _MAX_CALLERS or frame.hops >= MAX_HOPS:
        return False
    return all(_gives_one(values, site, record, name, frame) for site in sites)


def given_by_none(values: Values, name: str, frame: Frame) -> bool:
    """Whether a name is a parameter whose default is None, bound to nothing else, and no call seen gives another."""
    body, key = values.body(frame.path), FunctionKey(frame.path, frame.function)
    record, sites = values.index.function(key), values.hotness.callers.get(key, ())
    default = default_of(body.functions.get(frame.function), name) if body is not None else None
    if body is None or default is None or not is_none(default) or body.reaching(frame.function, name, frame.at):
        return False
    if not 0 < len(sites) <= _MAX_CALLS or frame.hops >= MAX_HOPS:
        return False
    return all(_gives_none(values, site, record, name, frame) for site in sites)


def _gives_none(values: Values, site: CallSite, function: Function, name: str, frame: Frame) -> bool:
    node = call_at(values, site)
    if node is None or unpacks_keywords(node) or any(isinstance(part, ast.Starred) for part in node.args):
        return False
    argument = argument_for(node, function, name)
    if argument is None or is_none(argument):
        return True
    there = frame.hop(site.path, site.call.function, (site.call.line, site.call.column))
    return isinstance(argument, ast.Name) and given_by_none(values, argument.id, there)


def _gives_one(values: Values, site: CallSite, function: Function, name: str, frame: Frame) -> bool:
    node = call_at(values, site)
    argument = argument_for(node, function, name) if node is not None else None
    if argument is None:
        return False
    base = argument
    while isinstance(base, ast.Subscript):
        base = base.value
    if isinstance(base, ast.Name | ast.Attribute) and says_host(last_part(ast.unparse(base))):
        return True
    call = site.call
    given = values.of(argument, frame.hop(site.path, call.function, (call.line, call.column)))
    return given.kind == "tensor" and given.device == HOST
