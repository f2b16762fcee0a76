"""Devices whose default is the host and that others give: `def __init__(self, columns, device="cpu")`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.outlines.records import Parameter
from torchperf_lint.facts.values.value import ANYWHERE, HOST, Value

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_MAX_CALLERS = 16
_HOPS = 6


def may_be_given(values: Values, key: FunctionKey, name: str, hops: int = _HOPS) -> bool:
    """Whether a parameter is one of what the project itself never calls, or is handed on from where it may be given.

    `Linear(columns, device=device)` in a constructor that takes a device itself; or computed, as `get_device()` is.
    Only of modules, which are what is moved: where environments and samplers run, their own callers know. Of other
    classes by what the constructors of those that derive from them hand on, `super().__init__(model, device=device)`.
    """
    sites = values.hotness.callers.get(key, ())
    if not sites:
        return True
    if not _is_of_a_module(values, key):
        sites = tuple(site for site in sites if site.call.callee == "super().__init__")
    if not hops:
        return False
    return any(_gives(values, site, key, name, hops - 1) for site in sites[:_MAX_CALLERS])


def _is_of_a_module(values: Values, key: FunctionKey) -> bool:
    own = values.index.class_of(key.path, key.index)
    return own is not None and values.types.is_module_class(own)


def as_given(values: Values, passed: Value, key: FunctionKey, parameter: Parameter) -> Value:
    """What callers pass for a parameter: where a device is only the host by its default, it may be any."""
    on_host = passed.kind == "torch_device" and passed.device == HOST and parameter.default
    return passed.moved(ANYWHERE) if on_host and may_be_given(values, key, parameter.name) else passed


def _gives(values: Values, site: CallSite, key: FunctionKey, name: str, hops: int) -> bool:
    node, body = call_at(values, site), values.body(site.path)
    argument = argument_for(node, values.index.function(key), name) if node is not None else None
    if argument is None and node is not None and any(keyword.arg is None for keyword in node.keywords):
        return True  # `super().__init__(**kwargs)`
    if not isinstance(argument, ast.Name) or body is None:
        return _computes(argument)
    caller = FunctionKey(site.path, site.call.function)
    bound = body.reaching(caller.index, argument.id, (site.call.line, site.call.column))
    if not bound:
        parameters = values.index.function(caller).parameters
        return any(p.name == argument.id for p in parameters) and may_be_given(values, caller, argument.id, hops)
    return any(d.how == "assign" and _computes(d.value) for d in bound)


def _computes(node: ast.expr | None) -> bool:
    """Whether a device is not written down as the host: `"cuda" if torch.cuda.is_available() else "cpu"`."""
    if isinstance(node, ast.Call) and len(node.args) == 1:
        node = node.args[0]
    return isinstance(node, ast.Call | ast.Attribute | ast.IfExp)
