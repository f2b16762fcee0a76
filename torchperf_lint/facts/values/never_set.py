"""What stands under `if self.device is not None:`, of an attribute that the constructor is never given: it never runs.

    class Forever:
        def __init__(self, loader, device=None):
            self.device = device

        def __next__(self):
            batch = next(self.iterator)
            if self.device is not None:
                batch = to_device(batch, self.device)
            return batch

Who moves what such an object gives, after `Forever(loader)`, moves it from the host.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.unset_options import none_by_default
from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.outlines.records import Function
from torchperf_lint.facts.syntax.arguments import unpacks_keywords
from torchperf_lint.facts.syntax.literals import is_none
from torchperf_lint.facts.values.value import Frame

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_CALLS = 200
"""Calls of a constructor looked at."""


def never_bound(values: Values, d: Definition, frame: Frame, body: Body) -> bool:
    """Whether a binding stands where only an attribute leads that is None whatever object it is of."""
    blocks = {line for line, branch in d.block if branch == "body"}
    if not blocks or values.index.class_of(frame.path, frame.function) is None:
        return False
    tests = (s.test for s in body.statements(frame.function) if isinstance(s, ast.If) and s.lineno in blocks)
    return any(name is not None and _is_never_set(values, name, frame, body) for name in map(_asked, tests))


def _asked(test: ast.expr) -> str | None:
    """`device` of `self.device is not None` and `self.device`."""
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.IsNot) and is_none(test.comparators[0]):
        test = test.left
    own = isinstance(test, ast.Attribute) and isinstance(test.value, ast.Name) and test.value.id == "self"
    return test.attr if own and isinstance(test, ast.Attribute) else None


def _is_never_set(values: Values, name: str, frame: Frame, body: Body) -> bool:
    own = values.index.class_of(frame.path, frame.function)
    assert own is not None
    methods = values.index.record(own).methods
    constructor = methods.get("__init__")
    kept = [value for method in methods.values() for value, _ in body.self_assigned(method, name)]
    if constructor is None or len(kept) != 1 or not isinstance(kept[0], ast.Name):
        return False
    if kept[0].id not in none_by_default(body.functions.get(constructor)):
        return False
    key = FunctionKey(frame.path, constructor)
    calls = values.hotness.callers.get(key, ())
    function = values.index.function(key)
    return 0 < len(calls) <= _CALLS and all(_leaves_it(values, call, function, kept[0].id) for call in calls)


def _leaves_it(values: Values, site: CallSite, function: Function, name: str) -> bool:
    call = call_at(values, site)
    if call is None or unpacks_keywords(call) or any(isinstance(part, ast.Starred) for part in call.args):
        return False
    given = argument_for(call, function, name)
    return given is None or is_none(given)
