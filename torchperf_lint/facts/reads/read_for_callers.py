"""The hot calls of a function that reads what it is given: each of them that hands a tensor over waits for one read.

def update(self, **values):                      meters.update(loss=loss)             waits
    for name, value in values.items():           meters.update(rate=0.1)              does not
        self.meters[name].add(value.item())      meters.update(error=found["error"])  waits
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.files.hot_callers import HotCaller, hot_callers
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax.arguments import arguments
from torchperf_lint.facts.syntax.syntax import names_of
from torchperf_lint.facts.values.value import Frame

_HOPS = 2
_FEW = 5
"""As many as a reader looks at."""
_OFTEN = frozenset({"step", "forward", "update", "eval"})


def reading_callers(file: SourceFile, site: Site, operand: ast.expr) -> list[HotCaller]:
    """The hot calls, in order, that hand over a tensor which the function around reads; none where one alone does."""
    body = file.project.body(file.path)
    if body is None or site.hot is None or site.function == 0 or not site.hot.depth:
        return []
    names = set(_given(body, site.function, names_of(operand)))
    found = [caller for caller in hot_callers(file.project.values, site.frame) if _hands_over(file, caller, names)]
    found.sort(key=lambda caller: (caller.frame.path, caller.frame.at))
    return found[:_FEW] if len(found) > 1 else []


def _given(body: Body, function: int, names: set[str]) -> Iterator[str]:
    """The parameters that some names are, or are parts of, as a loop over what is given hands them out."""
    node = body.functions.get(function)
    if not isinstance(node, ast.FunctionDef):
        return
    every = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg)
    parameters = {argument.arg for argument in every if argument is not None} - {"self", "cls"}
    yield from names & parameters
    for name in names:
        loops = (d.value for d in body.definitions(function).get(name, ()) if d.how == "loop" and d.value is not None)
        yield from (given for iterated in loops for given in names_of(iterated) & parameters)


_CALLS = 3
"""Calls, one within what another is given, that are followed back."""


def _hands_over(file: SourceFile, caller: HotCaller, names: set[str]) -> bool:
    """Whether a call passes a tensor of the device for one of some parameters."""
    hot = file.project.hotness.of_region(caller.frame.path, _region(file, caller))
    if hot is None or hot.kind not in _OFTEN or hot.optional:
        return False
    named = {parameter.name for parameter in caller.function.parameters}
    given = [caller.argument(name) for name in names & named]
    if names - named:  # what is gathered: `*values`, `**values`
        given += arguments(caller.call)
    return any(_may_be_read(file, node, caller.frame, _HOPS) for node in given if node is not None)


def _region(file: SourceFile, caller: HotCaller) -> int:
    return file.project.hotness.innermost(caller.frame.path, caller.frame.at)


def _may_be_read(file: SourceFile, node: ast.expr, frame: Frame, hops: int) -> bool:
    """A tensor that may lie on the device, what holds such, or an entry of what a call has made of one."""
    value = file.project.values.of(node, frame)
    held = value.item if value.kind == "sequence" and value.item is not None else value
    if held.kind != "unknown":
        return held.kind == "tensor" and held.on_device
    root = node.value if isinstance(node, ast.Subscript) else node
    body = file.project.body(frame.path)
    made = body.assigned_once(frame.function, root.id, frame.at) if body and isinstance(root, ast.Name) else None
    if isinstance(made, ast.Call):  # below zero, calls are counted: `kept = merge(kept)` would lead to itself for ever
        return hops > -_CALLS and any(_may_be_read(file, given, frame, min(hops, 0) - 1) for given in arguments(made))
    if hops > 0 and isinstance(made, ast.DictComp):
        views = (n.value for n in ast.walk(made.generators[0].iter) if isinstance(n, ast.Attribute))
        return any(isinstance(view, ast.Name) and _may_be_read(file, view, frame, hops - 1) for view in views)
    return False
