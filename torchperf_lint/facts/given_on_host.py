"""Parameters that every caller gives a tensor on the host: `x.device` in such a helper is the host, too."""

from __future__ import annotations

import ast

from torchperf_lint.facts.chains import last_part
from torchperf_lint.facts.index import CallSite, FunctionKey
from torchperf_lint.facts.passed import argument_for, call_at
from torchperf_lint.facts.records import Function
from torchperf_lint.facts.value import HOST, Frame
from torchperf_lint.facts.values import MAX_HOPS, Values
from torchperf_lint.patterns import pattern

_MAX_CALLERS = 4
_HOST_NAME = pattern(r"_(?:host|cpu)$")
"""Names by which code tells its copy on the host from the one on the device."""


def given_on_host(values: Values, device: ast.expr, frame: Frame) -> bool:
    """Whether `device` is written `x.device`, of a parameter `x` that all callers give a tensor on the host."""
    if not isinstance(device, ast.Attribute) or device.attr != "device" or not isinstance(device.value, ast.Name):
        return False
    key = FunctionKey(frame.path, frame.function)
    name, record = device.value.id, values.index.function(key)
    sites = values.hotness.callers.get(key, ())
    if all(p.name != name for p in record.parameters) or not 0 < len(sites) <= _MAX_CALLERS or frame.hops >= MAX_HOPS:
        return False
    return all(_gives_one(values, site, record, name, frame) for site in sites)


def _gives_one(values: Values, site: CallSite, function: Function, name: str, frame: Frame) -> bool:
    node = call_at(values, site)
    argument = argument_for(node, function, name) if node is not None else None
    if argument is None:
        return False
    base = argument
    while isinstance(base, ast.Subscript):
        base = base.value
    if isinstance(base, ast.Name | ast.Attribute) and _HOST_NAME.search(last_part(ast.unparse(base))):
        return True
    call = site.call
    given = values.of(argument, frame.hop(site.path, call.function, (call.line, call.column)))
    return given.kind == "tensor" and given.device == HOST
