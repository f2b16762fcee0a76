"""Parameters of helpers that the calls which run every step give on the host already, whatever others give.

    def to_numpy(x):                                  for batch in loader:
        return x.cpu().numpy()                            ...
                                                          means.append(to_numpy(mean.cpu()))
    info = to_numpy(model.encode(frame))

The copy in `to_numpy` waits for the device where `encode` is, and the step, which makes the helper hot, has copied:
hot are the calls that give what is on the device, if any.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.files.source import Place, SourceFile
from torchperf_lint.facts.hotness.hot import Hot, called_at
from torchperf_lint.facts.values.value import HOST, UNKNOWN, Frame, Value

_CALLS = 100
"""Calls looked at, of helpers that are called from everywhere."""


def hot_by_arrival(file: SourceFile, place: Place, read: ast.expr) -> Hot | None:
    """Why a place is hot, by a call that does not give on the host what the place reads; None where all give it so."""
    hot, key = place.hot, FunctionKey(file.path, place.function)
    named = called_at(hot) if hot is not None and hot.depth else None
    name = _read_of(read)
    if hot is None or named is None or all(p.name != name for p in file.project.index.function(key).parameters):
        return hot
    body = file.project.body(file.path)
    if body is None or body.reaching(place.function, name, file.span(read)[0]):
        return hot
    if not _on_host(_given(file, key, name, named), named):
        return hot
    project, given = file.project, _given(file, key, name)
    others = [
        other
        for other in project.hotness.other_ways(key, project.hotness.innermost(file.path, place.frame.at))
        if (at := called_at(other)) in given and at is not None and not _on_host(given, at)
    ]
    if not others:
        return None
    sure = [other for other in others if any(v.on_device for v in given.get(called_at(other) or named, ()))]
    found = min(sure or others, key=lambda other: (other.kind != hot.kind, other.depth))
    return replace(project.hotness.weighed(found, key), optional=found.optional or hot.optional)


_Given = dict[tuple[str, int], list[Value]]
"""Where a function is called -> what a parameter is there."""


def _given(file: SourceFile, key: FunctionKey, name: str, only: tuple[str, int] | None = None) -> _Given:
    """What the hot calls of a function give a parameter; those of one line alone, or all."""
    values, record = file.project.values, file.project.index.function(key)
    sites = [s for s in values.hotness.callers.get(key, ()) if only in (None, (s.path, s.call.line))]
    found: _Given = {}
    for site in sites[:_CALLS]:
        if values.hotness.of_region(site.path, site.call.region) is None:
            continue
        call = call_at(values, site)
        argument = argument_for(call, record, name) if call is not None else None
        there = Frame(site.path, site.call.function, (site.call.line, site.call.column))
        value = values.of(argument, there) if argument is not None else UNKNOWN
        found.setdefault((site.path, site.call.line), []).append(value)
    return found


def _on_host(given: _Given, at: tuple[str, int]) -> bool:
    return at in given and all(v.kind in ("tensor", "array") and v.device == HOST for v in given[at])


def _read_of(node: ast.expr) -> str:
    """`x` of `x.detach()` and `x[0].sum()`; empty where an expression is of no name."""
    while isinstance(node, ast.Call | ast.Attribute | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
