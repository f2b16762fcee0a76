"""What `*args` and `**kwargs` hold: what callers pass beyond the named parameters, as in `metric.add(loss, hits)`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import call_at
from torchperf_lint.facts.outlines.signatures import annotation_chain
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.syntax import below
from torchperf_lint.facts.values.nominal import from_annotation
from torchperf_lint.facts.values.value import UNKNOWN, Frame, Value, join, sequence
from torchperf_lint.model import Confidence

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from torchperf_lint.facts.bindings.bodies import Body
    from torchperf_lint.facts.outlines.records import Function
    from torchperf_lint.facts.values.values import Values

_MAX_CALLERS = 8


def value_of_rest(values: Values, name: str, frame: Frame) -> Value | None:
    """The sequence that `*name` or `**name` of a frame's function holds; None where the function has none."""
    body = values.body(frame.path)
    node = body.functions.get(frame.function) if body is not None else None
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    rest = next((arg for arg in (node.args.vararg, node.args.kwarg) if arg is not None and arg.arg == name), None)
    if rest is None:
        return None
    key = ("rest", frame.path, frame.function, name)
    passed = values.remembered(key, frame, lambda at: _passed(values, rest is node.args.vararg, at))
    if passed.item is not None and passed.item.kind not in ("unknown", "nothing"):
        return passed
    return _annotated(values, rest, frame) or passed


def _annotated(values: Values, rest: ast.arg, frame: Frame) -> Value | None:
    """What each of `*tensors: torch.Tensor` is, where no caller tells."""
    promised = annotation_chain(rest.annotation) if rest.annotation is not None else ""
    each = from_annotation(values, promised, frame, rest.arg, rest.lineno)
    return sequence(each) if each.kind == "tensor" else None


def _passed(values: Values, starred: bool, frame: Frame) -> Value:
    key = FunctionKey(frame.path, frame.function)
    record = values.index.function(key)
    named = {p.name for p in record.parameters}
    before = sum(not p.by_name for p in record.parameters) - record.bound
    found = []
    for site in values.hotness.callers.get(key, ())[:_MAX_CALLERS]:
        call = call_at(values, site)
        if call is None:
            continue
        there = frame.hop(site.path, site.call.function, (site.call.line, site.call.column))
        given = call.args[before:] if starred else [k.value for k in call.keywords if k.arg and k.arg not in named]
        found += [values.of(argument, there) for argument in given if not isinstance(argument, ast.Starred)]
        found += [] if starred else _spread(values, call, named, there)
    return sequence(join(found).weaker(Confidence.LIKELY)) if found else UNKNOWN


def _spread(values: Values, call: ast.Call, named: Collection[str], frame: Frame) -> list[Value]:
    """What `**losses` of a call passes beyond the named parameters."""
    found: list[Value] = []
    for given in call.keywords:
        if given.arg is not None:
            continue
        held = values.of(given.value, frame)
        if held.entries:
            found += [value for key, value in held.entries if key not in named]
        elif held.kind != "nothing":
            found.append((held.item or UNKNOWN) if held.kind == "sequence" else UNKNOWN)
    return found


def rest_handed_back(
    values: Values, call: ast.Call, returns: Sequence[ast.expr | None], key: FunctionKey, frame: Frame
) -> Value | None:
    """Of a function that hands back what `*name` holds, one by one, what this call gives it: its own arguments.

    `return (t.detach() if isinstance(t, Tensor) else t for t in tensors)`; None for other functions.
    """
    body = values.body(key.path)
    rest = rest_of(body, key.index) if body is not None else ""
    if not rest or not returns or not all(_is_each_of(result, rest) for result in returns):
        return None
    given = rest_given(call, values.index.function(key))
    if any(isinstance(argument, ast.Starred) for argument in given):
        return None
    items = tuple(values.of(argument, frame) for argument in given)
    return sequence(join(items) if items else UNKNOWN, items)


def rest_of(body: Body, function: int) -> str:
    """The name of what a function takes beyond its parameters, `args` of `*args`; empty where it takes no more."""
    node = body.functions.get(function)
    rest = node.args.vararg if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None
    return rest.arg if rest is not None else ""


def rest_by_keyword(body: Body, function: int) -> str:
    """The name of the keywords that a function takes beyond its parameters, `kwargs` of `**kwargs`; else empty."""
    node = body.functions.get(function)
    rest = node.args.kwarg if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None
    return rest.arg if rest is not None else ""


def rest_given(call: ast.Call, function: Function) -> list[ast.expr]:
    """What a call passes for `*args` of a function."""
    return call.args[len({p.name for p in function.parameters if not p.by_name}) - function.bound :]


def _is_each_of(result: ast.expr | None, rest: str) -> bool:
    """`[t.detach() for t in tensors]`, also in `tuple(...)`."""
    if isinstance(result, ast.Call) and chain(result.func) in ("tuple", "list") and len(result.args) == 1:
        result = result.args[0]
    if not isinstance(result, ast.GeneratorExp | ast.ListComp) or len(result.generators) != 1:
        return False
    loop = result.generators[0]
    if not isinstance(loop.target, ast.Name) or chain(loop.iter) != rest or loop.ifs:
        return False
    sides = [result.elt.body, result.elt.orelse] if isinstance(result.elt, ast.IfExp) else [result.elt]
    return all(_stays(side, loop.target.id) for side in sides)


def _stays(node: ast.expr, name: str) -> bool:
    """Whether an expression is what a name stands for, where that is: `t.detach().float()`."""
    start = below(node, api.DERIVING)
    return isinstance(start, ast.Name) and start.id == name
