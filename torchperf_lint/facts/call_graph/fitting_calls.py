"""The calls of a function by which it can have been called: as many arguments as it takes, under names that it has.

    self.agents.act(obs[i], i, mask, eps)      class Agents: def act(self, obs, number, mask, eps)
    self.agents.act(weights[i], mask, eps)     class Talking: def act(self, weights, mask, eps)

Where objects of several classes are held under one name, each of their methods has the calls of all.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.call_graph.passed import call_at
from torchperf_lint.facts.outlines.records import Function
from torchperf_lint.facts.syntax.chains import chain, last_part

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_MAX_CALLS = 12
_CHANGE_NOTHING = frozenset({"staticmethod", "classmethod", "no_grad", "inference_mode", "abstractmethod", "override"})
"""Decorators that hand on what they are given."""


def fitting_calls(values: Values, key: FunctionKey, function: Function) -> Sequence[CallSite]:
    """The calls of a function, without those that can only be of another one of its name; all, where none fits."""
    if key not in values.fitting_calls:
        values.fitting_calls[key] = _fitting(values, key, function)
    return values.fitting_calls[key]


def _fitting(values: Values, key: FunctionKey, function: Function) -> Sequence[CallSite]:
    sites = values.hotness.callers.get(key, ())
    body = values.body(key.path)
    top = body.functions.get(key.index) if body is not None else None
    if not 1 < len(sites) <= _MAX_CALLS or not isinstance(top, ast.FunctionDef | ast.AsyncFunctionDef):
        return sites
    if any(last_part(decorator.removesuffix("()")) not in _CHANGE_NOTHING for decorator in function.decorators):
        return sites  # it may give arguments of its own
    nodes = ((site, call_at(values, site)) for site in sites)
    return [site for site, node in nodes if node is None or _may_be_of(node, function, top.args)] or sites


def _may_be_of(node: ast.Call, function: Function, taken: ast.arguments) -> bool:
    if function.name != last_part(chain(node.func)):
        return True  # a class, an object, a partial
    if any(isinstance(given, ast.Starred) for given in node.args) or any(k.arg is None for k in node.keywords):
        return True
    places = len(taken.posonlyargs) + len(taken.args) - (0 if _gives_the_object(node) else function.bound)
    if taken.vararg is None and len(node.args) > places:
        return False
    names = {parameter.name for parameter in function.parameters}
    if taken.kwarg is None and any(keyword.arg not in names for keyword in node.keywords):
        return False
    return len(node.args) + len(node.keywords) >= places - len(taken.defaults)


def _gives_the_object(node: ast.Call) -> bool:
    """`Agents.act(agents, obs)`: of a class, by its name."""
    before, _, _ = chain(node.func).rpartition(".")
    return last_part(before).lstrip("_")[:1].isupper()
