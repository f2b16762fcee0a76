"""Metrics that keep what they add up on the host unless they are given a device: `def __init__(self, device="cpu")`.

    class Error(Metric):
        def update(self, output):
            y_pred, y = output
            self._total += (y_pred - y).abs().sum().to(self._device)

Whoever makes one without a device, which works, waits for each batch there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchperf_lint.facts.bindings.hints import default_of
from torchperf_lint.facts.call_graph.index import CallSite, Thing
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.roles.meters import is_meter
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values.value import Frame

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_MAX_CALLERS = 16
_IGNITE, _OF_IGNITE = "ignite.metrics.", "_device"
"""The metrics of a library, and where they keep the device that they are given."""


def rests_on_host(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether `self.device` of a metric is what its constructor is given, by default the host, and nobody gives it."""
    own = values.index.class_of(frame.path, frame.function)
    if not isinstance(node, ast.Attribute) or chain(node.value) != "self" or own is None:
        return False
    if not is_meter(values.index, own) or node.attr in values.index.attributes_of_others:
        return False
    above = [cls for cls in values.index.ancestry(own) if cls.kind != "external"]
    found = [value for cls in above for value in _set_in(values, cls, node.attr)]
    known = all(found) if found else node.attr == _OF_IGNITE and _hands_to_ignite(values, own)
    return known and not _is_given(values, own)


def _hands_to_ignite(values: Values, own: Thing) -> bool:
    """Whether a metric derives from one of ignite's, and has a constructor of its own whose device is the host's."""
    made = values.index.method(own, "__init__")
    body = values.body(made.path) if made is not None else None
    if made is None or body is None or not any(b.startswith(_IGNITE) for b in values.index.external_bases(own)):
        return False
    default = default_of(body.functions.get(made.index), "device")
    return default is not None and _is_host(default)


def _set_in(values: Values, cls: Thing, name: str) -> Iterator[bool]:
    """Of each value that a class gives an attribute: whether it is a device whose default is the host."""
    body = values.body(cls.path)
    for method in values.index.record(cls).methods.values() if body is not None else ():
        for value, _ in body.self_assigned(method, name) if body is not None else ():
            given = _named(value)
            default = default_of(body.functions.get(method), given.id) if isinstance(given, ast.Name) and body else None
            yield default is not None and _is_host(default)


def _named(node: ast.expr) -> ast.expr:
    """`device` of `torch.device(device)`."""
    called = isinstance(node, ast.Call) and chain(node.func).endswith("device") and len(node.args) == 1
    return node.args[0] if called and isinstance(node, ast.Call) else node


def _is_host(node: ast.expr) -> bool:
    node = _named(node)
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("cpu")


def _is_given(values: Values, own: Thing) -> bool:
    """Whether the project makes such a metric with a device; what a subclass hands on has a default of its own."""
    made = values.index.method(own, "__init__")
    if made is None:
        return False
    record = values.index.function(made)
    sites = [s for s in values.hotness.callers.get(made, ()) if s.call.callee != "super().__init__"][:_MAX_CALLERS]
    for site in sites:
        node = call_at(values, site)
        given = argument_for(node, record, "device") if node is not None else None
        if given is not None and not _is_host(given) and not _hands_on(values, site, given):
            return True
    return False


def _hands_on(values: Values, site: CallSite, given: ast.expr) -> bool:
    """`Base.__init__(self, device=device)` in a constructor whose own default is the host."""
    body = values.body(site.path)
    if body is None or not isinstance(given, ast.Name):
        return False
    default = default_of(body.functions.get(site.call.function), given.id)
    return default is not None and _is_host(default)
