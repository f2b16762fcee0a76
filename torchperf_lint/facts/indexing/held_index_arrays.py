"""Arrays of numpy's that an object holds since it was built, as the indices of what it computes: `x[:, self.kept]`.

    self.kept = np.array((0, 2))              self.kept = kept        # and `Net(np.array((0, 2)))` makes it

Of a number, `np.argmax(table)`, nothing is copied: it has to be evident that each is an array.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.constants.held import changed_in, held_since_construction
from torchperf_lint.facts.values.ndarrays import is_array
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.facts.values.values import Values


def holds_an_array(values: Values, node: ast.Attribute, frame: Frame) -> bool:
    """Whether an attribute of `self` is set to arrays alone, by what builds the object, and never changed."""
    own = values.index.class_of(frame.path, frame.function)
    if own is None or not held_since_construction(values, node, frame):
        return False
    found = []
    for key in (key for cls in values.index.ancestry(own) for key in changed_in(values, cls, node.attr)):
        body = values.body(key.path)
        for value, _ in body.self_assigned(key.index, node.attr) if body is not None else ():
            assert body is not None
            found.append(_is_one(values, value, key, Frame(key.path, key.index, body.at(value))))
    return bool(found) and all(found)


def _is_one(values: Values, value: ast.expr, key: FunctionKey, frame: Frame) -> bool:
    if is_array(values, value, frame) is not None:
        return True
    parameters = {parameter.name for parameter in values.index.function(key).parameters}
    body = values.body(key.path)
    if not isinstance(value, ast.Name) or value.id not in parameters or body is None:
        return False
    callers = values.hotness.callers.get(key, ())
    bound = body.reaching(key.index, value.id, frame.at)
    return not bound and bool(callers) and all(_gives_one(values, site, key, value.id) for site in callers)


def _gives_one(values: Values, site: CallSite, key: FunctionKey, name: str) -> bool:
    call = call_at(values, site)
    given = argument_for(call, values.index.function(key), name) if call is not None else None
    at = Frame(site.path, site.call.function, (site.call.line, site.call.column))
    return given is not None and is_array(values, given, at) is not None
