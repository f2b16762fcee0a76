"""Classes that an object keeps and calls later: what a parameter of its constructor is, where no call gives another.

    class Transition(nn.Module):
        def __init__(self, size, distribution=td.Normal):
            self.make = distribution

        def forward(self, x):
            dist = self.make(*self.net(x).chunk(2, -1))
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax.arguments import unpacks_keywords
from torchperf_lint.facts.values.bound_to import Bound, attribute_bound_to, name_bound_to
from torchperf_lint.facts.values.values import Values

_MAX_CALLERS = 16


class Kept(NamedTuple):
    """What an attribute of an object calls."""

    dotted: str
    """The canonical name of the class."""
    because: str


def kept_names(file: SourceFile) -> list[str]:
    """The attributes of `self` in a file that keep what some name holds."""
    bound = (b for b in file.outline.bindings if b.target.startswith("self.") and b.value.isidentifier())
    return sorted({b.target.removeprefix("self.") for b in bound})


def kept_class(site: Site) -> Kept | None:
    """The class outside the project that `self.make(...)` calls; None where a call may have given another."""
    values, func = site.file.project.values, site.call.func
    cls = values.index.class_of(site.file.path, site.function)
    if cls is None or not isinstance(func, ast.Attribute) or values.thing(func.value, site.frame) != cls:
        return None
    found = list(attribute_bound_to(values, cls, func.attr, site.frame))
    default = _default(values, found[0]) if len(found) == 1 else None
    if default is None or default.value is None:
        return None
    thing = values.thing(default.value, default.frame)
    if thing is None or thing.kind != "external":
        return None
    by_default = f"`{ast.unparse(default.value)}` by default (line {default.value.lineno})"
    return Kept(thing.dotted, f"`{ast.unparse(func)}` is {by_default}, and no call gives another")


def _default(values: Values, bound: Bound) -> Bound | None:
    """The default of the constructor's parameter that an attribute is set to, where calls leave it as it is."""
    key = FunctionKey(bound.frame.path, bound.frame.function)
    if not isinstance(bound.value, ast.Name) or values.index.function(key).name != "__init__":
        return None
    found = list(name_bound_to(values, bound.value.id, bound.frame))
    if len(found) != 1 or not found[0].default or _may_be_given(values, key, bound.value.id):
        return None
    return found[0]


def _may_be_given(values: Values, key: FunctionKey, name: str) -> bool:
    """Whether a call of a constructor gives a parameter, or nobody is seen to call it."""
    sites = values.hotness.callers.get(key, ())
    if not 0 < len(sites) <= _MAX_CALLERS:
        return True
    function = values.index.function(key)
    calls = [call_at(values, site) for site in sites]
    return any(_gives(call) or argument_for(call, function, name) is not None for call in calls if call is not None)


def _gives(call: ast.Call) -> bool:
    """Whether a call unpacks what may be anything."""
    return unpacks_keywords(call) or any(isinstance(argument, ast.Starred) for argument in call.args)
