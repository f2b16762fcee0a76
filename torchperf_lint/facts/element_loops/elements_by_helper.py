"""Loops that hand the number of their turn to a function, which takes that element of a tensor:

    score = sum([self.step_score(emissions, tags, t) for t in range(n)])

    def step_score(self, emissions, tags, t):
        return emissions[t, tags[t]] * 0.5
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for
from torchperf_lint.facts.constants.changed_in_place import changed
from torchperf_lint.facts.element_loops.ragged import Raggedness
from torchperf_lint.facts.element_loops.turns import Turn
from torchperf_lint.facts.files.spots import Spot
from torchperf_lint.facts.outlines.records import Function
from torchperf_lint.facts.syntax.chains import chain


class ByHelper(NamedTuple):
    """A tensor of which a function takes the element of a turn."""

    tensor: ast.expr
    """As the loop passes it."""
    helper: Turn
    """What the function does, its parameter in place of the loop's variable."""


def by_helper(turn: Turn) -> Iterator[ByHelper]:
    """The tensors that the calls in a turn pass to a function of the file beside the turn's number."""
    file = turn.file
    body = file.project.body(file.path)
    for call in turn.calls if body is not None else ():
        targets = file.project.types.targets(file.path, turn.place.function, chain(call.func))
        if body is None or len(targets) != 1 or targets[0].path != file.path:
            continue
        record, node = file.project.index.function(targets[0]), body.functions.get(targets[0].index)
        counter = _counter(turn, call, record)
        if counter is None or not isinstance(node, ast.FunctionDef) or record.name == "forward":
            continue
        helper = _as_turn(turn, targets[0], node, counter)
        for name in _indexed(helper, record):
            passed = argument_for(call, record, name)
            if passed is not None and not body.definitions(targets[0].index).get(name):
                yield ByHelper(passed, helper)


def doubt_of(helper: Turn) -> str | None:
    """Why what a function does with one element may have no batched form: in a few words, None for no reason."""
    own = helper.file.outline.functions[helper.place.function]
    last = helper.loop.body[-1] if isinstance(helper.loop, ast.For) else None
    if any(isinstance(node, ast.For | ast.While) for node in helper.nodes) or helper.reads():
        return f"each turn calls `{own.name}`"
    if any(isinstance(node, ast.Return) and node is not last for node in helper.nodes):
        return f"`{own.name}` has several ways"
    if any(True for node in helper.nodes for _ in changed(node)):
        return f"`{own.name}` writes into what it is given"
    return Raggedness(helper).why()


def _counter(turn: Turn, call: ast.Call, record: Function) -> str | None:
    """The parameter that is given the number of a turn."""
    for parameter in record.parameters[record.bound :]:
        given = argument_for(call, record, parameter.name)
        if isinstance(given, ast.Name) and given.id in turn.variables:
            return parameter.name
    return None


def _as_turn(turn: Turn, key: FunctionKey, node: ast.FunctionDef, counter: str) -> Turn:
    file = turn.file
    assert isinstance(turn.place, Spot)
    start = file.span(node.body[-1])[0]
    target = ast.copy_location(ast.Name(counter, ast.Store()), node.body[0])
    loop = ast.copy_location(ast.For(target=target, iter=target, body=node.body, orelse=[]), node.body[0])
    return Turn(file, Spot(file, loop, key.index, turn.place.hot, start), loop, target)


def _indexed(helper: Turn, record: Function) -> Iterator[str]:
    """The parameters whose element of a turn a function takes."""
    names = {parameter.name for parameter in record.parameters}
    for node in helper.indexed:
        if isinstance(node.value, ast.Name) and node.value.id in names:
            yield node.value.id
