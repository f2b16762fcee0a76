"""Indices that callers make on the host and hand on: `score(h, y, t, rows)`, after `rows = torch.arange(n)`.

Each subscript by such a parameter copies it, in each turn where the call stands in a loop.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchperf_lint.facts.bindings.put_into import written_into
from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.copies.host_data import made_on_host
from torchperf_lint.facts.files.spots import Spot
from torchperf_lint.facts.values.value import Frame

_FACTORIES = frozenset("arange randperm randint tril_indices triu_indices".split())
_MAX_CALLERS = 4


class MadeByCaller(NamedTuple):
    """What a caller makes on the host and passes for a parameter."""

    factory: str
    path: str
    line: int
    """Where the first of the callers makes it, 1-based."""


def made_by_callers(spot: Spot, index: ast.expr) -> MadeByCaller | None:
    """What makes the index that a parameter is, where all who call pass one that they make on the host."""
    body = spot.file.project.body(spot.file.path)
    record = spot.file.outline.functions[spot.function]
    if body is None or not isinstance(index, ast.Name) or index.id not in {p.name for p in record.parameters}:
        return None
    if body.reaching(spot.function, index.id, body.at(index)):
        return None
    callers = spot.file.project.hotness.callers.get(FunctionKey(spot.file.path, spot.function), ())
    if not 0 < len(callers) <= _MAX_CALLERS:
        return None
    made = [_made_for(spot, site, index.id) for site in callers]
    return made[0] if None not in made else None


def _made_for(spot: Spot, site: CallSite, name: str) -> MadeByCaller | None:
    values = spot.file.project.values
    call, body = call_at(values, site), values.body(site.path)
    record = spot.file.outline.functions[spot.function]
    argument = argument_for(call, record, name) if call is not None else None
    if argument is None or body is None:
        return None
    if isinstance(argument, ast.Name) and any(True for _ in written_into(body, site.call.function, argument.id)):
        return None  # the host's numbers are put into it
    made = made_on_host(values, argument, Frame(site.path, site.call.function, (site.call.line, site.call.column)))
    if made is None or made.factory not in _FACTORIES:
        return None
    return MadeByCaller(made.factory, site.path, made.call.lineno)
