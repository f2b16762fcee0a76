"""Parameters for which every call gives what was copied to the host, however far from the call that was done.

    weights = agents.weights(obs)              def weights(self, obs): ... return out.cpu()
    agents.act(weights[i], mask)               def act(self, weights, mask): ... Categorical(weights.softmax(-1))

What is asked here is how the copy is written, which needs no evaluation: the values behind it may be too far to follow.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from torchperf_lint.facts.call_graph.fitting_calls import fitting_calls
from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey, Index
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.outlines.records import Function
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import below_entries
from torchperf_lint.facts.values.value import ANYWHERE, HOST, Value

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_VIEWS = frozenset(
    "detach view reshape squeeze unsqueeze flatten contiguous clone long int float bool double permute".split()
)
"""Methods whose result is where the tensor is."""
_MAX_CALLS = 8
_TARGETS = 4
"""Functions that one call may run, as objects of several classes are held under one name."""


def where_given(values: Values, key: FunctionKey, function: Function, name: str, used: Value) -> Value:
    """What a parameter is by its uses, on the host where all calls give what they, or what they call, copied there."""
    if used.kind != "tensor" or used.device != ANYWHERE:
        return used
    return used.moved(HOST) if _is_given_copies(values, key, function, name) else used


def _is_given_copies(values: Values, key: FunctionKey, function: Function, name: str) -> bool:
    sites = fitting_calls(values, key, function)
    return 0 < len(sites) <= _MAX_CALLS and all(_gives_a_copy(values, site, function, name) for site in sites)


def _gives_a_copy(values: Values, site: CallSite, function: Function, name: str) -> bool:
    node, body = call_at(values, site), values.body(site.path)
    argument = argument_for(node, function, name) if node is not None else None
    if argument is None or body is None:
        return False
    made = below_entries(argument, _VIEWS)
    if isinstance(made, ast.Name):
        bound = body.assigned_once(site.call.function, made.id, (site.call.line, site.call.column))
        made = below_entries(bound, _VIEWS) if bound is not None else made
    if not isinstance(made, ast.Call):
        return False
    return _copies(made) or _returns_copies(values, site, made)


def _returns_copies(values: Values, site: CallSite, made: ast.Call) -> bool:
    """Whether what a call may run returns nothing but copies."""
    body = values.body(site.path)
    at = body.at(made) if body is not None else None
    targets = [
        key
        for key in _functions(values.index).get(last_part(chain(made.func)), ())
        if any(c.path == site.path and (c.call.line, c.call.column) == at for c in values.hotness.callers.get(key, ()))
    ]
    if not 0 < len(targets) <= _TARGETS:
        return False
    for target in targets:
        body = values.body(target.path)
        returned = body.returns(target.index) if body is not None else []
        if not returned or not all(_copies(below_entries(one, _VIEWS)) for one in returned):
            return False
    return True


_known: WeakKeyDictionary[Index, dict[str, list[FunctionKey]]] = WeakKeyDictionary()


def _functions(index: Index) -> dict[str, list[FunctionKey]]:
    """Name -> the functions of the project that are called so."""
    if index not in _known:
        found: dict[str, list[FunctionKey]] = {}
        for path, outline in index.outlines.items():
            for number, function in enumerate(outline.functions):
                found.setdefault(function.name, []).append(FunctionKey(path, number))
        _known[index] = found
    return _known[index]


def _copies(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "cpu"
