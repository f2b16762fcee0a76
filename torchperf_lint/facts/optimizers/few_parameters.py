"""Loops over parameters that have few turns: a short list written out, parameters joined into flat vectors, or those of
a module that holds a parameter or two.

parameters = [w1, w2]                         self.master = make_master(model)      # two flat vectors
for p in parameters:                          for p in self.master:
    p.grad.mul_(scale)                            p.grad.mul_(scale)
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.call_graph.index import FunctionKey, Thing
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import NOT_KNOWN, Spot
from torchperf_lint.facts.optimizers.small_modules import parameters_alone
from torchperf_lint.facts.outlines.guards import literal_turns
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import Frame

_HOPS = 6
"""Functions that a module is handed through."""
FEW = 8
"""Turns that are not worth a call for lists."""
_JOINS = frozenset(("_flatten_dense_tensors", "flatten_dense_tensors", "parameters_to_vector"))


def goes_over_few(file: SourceFile, loop: ast.For, function: int) -> bool:
    """Whether what a loop goes over holds few tensors, as far as the code shows."""
    over = loop.iter
    if isinstance(over, ast.Name):
        body = file.project.body(file.path)
        reaching = body.reaching(function, over.id, body.at(over)) if body is not None else None
        values = [d.value for d in reaching or () if d.how == "assign" and not d.index]
        if values and all(value is not None and _is_few(value) for value in values):
            return True
    if isinstance(over, ast.Name | ast.Attribute):
        return _is_joined(file, chain(over), function)
    return isinstance(over, ast.Call) and _of_a_small_module(file, over, function)


def _of_a_small_module(file: SourceFile, over: ast.Call, function: int) -> bool:
    """`center_loss.parameters()`, of whatever class the loss may be."""
    if not isinstance(over.func, ast.Attribute) or over.func.attr not in ("parameters", "named_parameters"):
        return False
    place = Spot(file, over, function, NOT_KNOWN, file.span(over)[0])
    module = file.value(over.func.value, place)
    thing = module.thing
    if module.kind == "unknown" and isinstance(over.func.value, ast.Name):
        thing = _given_from_afar(file.project, FunctionKey(file.path, function), over.func.value.id)
    held = parameters_alone(file.project, thing)
    return held is not None and held <= FEW


def _given_from_afar(project: Project, key: FunctionKey, name: str) -> Thing | None:
    """What one caller after the other hands on, to a function that a nested one stands in too."""
    for _ in range(_HOPS):
        function, body = project.index.function(key), project.body(key.path)
        if body is None or body.definitions(key.index).get(name):
            return None
        if all(parameter.name != name for parameter in function.parameters):
            if function.parent <= 0:
                return None
            key = FunctionKey(key.path, function.parent)
            continue
        callers = project.hotness.callers.get(key, ())
        call = call_at(project.values, callers[0]) if len(callers) == 1 else None
        argument = argument_for(call, function, name) if call is not None else None
        if call is None or not isinstance(argument, ast.Name):
            return None
        key, name = FunctionKey(callers[0].path, callers[0].call.function), argument.id
        place = callers[0].call.line, callers[0].call.column
        given = project.values.of(argument, Frame(key.path, key.index, place))
        if given.kind != "unknown":
            return given.thing
    return None


def _is_few(value: ast.expr) -> bool:
    turns = literal_turns(value) if isinstance(value, ast.List | ast.Tuple) else None
    return turns is not None and turns <= FEW


def _is_joined(file: SourceFile, written: str, function: int) -> bool:
    """Whether something of that name is made by a function of the file that joins parameters into one vector."""
    functions = file.outline.functions
    owner = functions[function].class_index if written.startswith("self.") else -1
    for binding in file.outline.bindings:
        here = functions[binding.function].class_index == owner >= 0 or binding.function in (function, 0)
        if here and binding.target == written and binding.value.endswith("()"):
            name = last_part(binding.value.removesuffix("()"))
            makers = [number for number, record in enumerate(functions) if number and record.name == name]
            joins = (call for call in file.outline.calls if last_part(call.callee) in _JOINS)
            if name in _JOINS or any(call.function in makers for call in joins):
                return True
    return False
