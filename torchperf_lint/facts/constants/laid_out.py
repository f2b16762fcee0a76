"""Numbers that the host lays out on the device, and reads back at places that it knows: the times of a sampler.

    steps = torch.linspace(1.0, 0.0, n + 1, device=device)        def p_sample(self, x, time, time_next):
    for i in range(n):                                                ...
        x = self.p_sample(x, steps[i], steps[i + 1])                  if time_next == 0:

Whatever such a number decides, the host can tell by the counter, or keep a list of the numbers beside the tensor.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.put_into import written_into
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.constants.host_numbers import is_host_number
from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.dimensions import walked
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.facts.values.values import Values

_COUNTS = frozenset("linspace logspace arange".split())
"""Factories that lay numbers out, one after the other."""
_KEEP = frozenset("to cuda float double half long int bool type flip clone detach contiguous flatten".split())
"""Methods of a tensor that give the same numbers, in another order perhaps."""
_LOOKS = frozenset("item abs to float int long bool double cpu detach view reshape squeeze".split())
_NUMBERS = frozenset({"int", "float", "bool", "abs"})
_MAX_CALLERS = 4
_HOPS = 6


def is_laid_out(place: Place, node: ast.expr) -> bool:
    """Whether an expression reads, or compares with a number, what the host has laid out, at a place it knows."""
    return _is_element(place.file.project.values, node, place.frame, _HOPS)


def _is_element(values: Values, node: ast.expr, frame: Frame, hops: int) -> bool:
    """Whether an expression is one of such numbers."""
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        read = [side for side in sides if not is_host_number(values, side, frame)]
        return bool(read) and len(sides) == 2 and all(_is_element(values, side, frame, hops) for side in read)
    if isinstance(node, ast.Call):
        inner = _looked_at(node)
        return inner is not None and _is_element(values, inner, frame, hops)
    if isinstance(node, ast.Subscript):
        return is_host_number(values, node.slice, frame) and _are_laid_out(values, node.value, frame, hops)
    if not isinstance(node, ast.Name) or not hops:
        return False
    body = values.body(frame.path)
    reaching = body.reaching(frame.function, node.id, frame.at) if body is not None else None
    if body is None or reaching is None:
        return body is not None and _is_given_one(values, node.id, frame, hops - 1)
    return bool(reaching) and all(_binds_one(values, d, frame, body, hops - 1) for d in reaching)


def _looked_at(node: ast.Call) -> ast.expr | None:
    """`t` of `float(t)` and `t.abs().item()`."""
    if isinstance(node.func, ast.Name):
        return node.args[0] if node.func.id in _NUMBERS and len(node.args) == 1 else None
    return node.func.value if isinstance(node.func, ast.Attribute) and node.func.attr in _LOOKS else None


def _binds_one(values: Values, d: Definition, frame: Frame, body: Body, hops: int) -> bool:
    value: ast.expr | None = d.value
    if d.how == "item" and isinstance(value, ast.Tuple) and len(d.index) == 1 and d.index[0] < len(value.elts):
        value = value.elts[d.index[0]]
    elif d.how == "loop" and value is not None:
        whole = walked(value, d.index)
        return whole is not None and _are_laid_out(values, whole, frame._replace(at=body.at(value)), hops)
    elif d.how != "assign":
        return False
    return value is not None and _is_element(values, value, frame._replace(at=body.at(value)), hops)


def _is_given_one(values: Values, name: str, frame: Frame, hops: int) -> bool:
    """Whether all callers of a function pass one for a parameter."""
    key = FunctionKey(frame.path, frame.function)
    record, callers = values.index.function(key), values.hotness.callers.get(key, ())
    if not 0 < len(callers) <= _MAX_CALLERS or name not in {p.name for p in record.parameters}:
        return False
    for site in callers:
        call = call_at(values, site)
        given = argument_for(call, record, name) if call is not None else None
        there = Frame(site.path, site.call.function, (site.call.line, site.call.column))
        if given is None or not _is_element(values, given, there, hops):
            return False
    return True


def _are_laid_out(values: Values, node: ast.expr, frame: Frame, hops: int) -> bool:
    """Whether a tensor holds nothing but numbers that the host counts out: `torch.linspace(1, 0, n).to(device)[1:]`."""
    while True:
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _KEEP:
            node = node.args[0] if _is_of_torch(values, node, frame) else node.func.value
        elif isinstance(node, ast.BinOp):
            sides = [side for side in (node.left, node.right) if not is_host_number(values, side, frame)]
            if len(sides) != 1:
                return False
            node = sides[0]
        else:
            break
    if isinstance(node, ast.Call):
        return _counts_out(values, node, frame)
    body = values.body(frame.path)
    if not isinstance(node, ast.Name) or body is None or not hops:
        return False
    made = body.assigned_once(frame.function, node.id, frame.at)
    if made is None or any(True for _ in written_into(body, frame.function, node.id)):
        return False
    if any(use.endswith("_") for use, _ in body.uses(frame.function, node.id)):
        return False
    return _are_laid_out(values, made, frame._replace(at=body.at(made)), hops - 1)


def _counts_out(values: Values, node: ast.Call, frame: Frame) -> bool:
    if not _is_of_torch(values, node, frame) or last_part(chain(node.func)) not in _COUNTS:
        return False
    return all(is_host_number(values, argument, frame) for argument in node.args)


def _is_of_torch(values: Values, node: ast.Call, frame: Frame) -> bool:
    """Whether a function of torch's is called with something: `torch.flip(t, (0,))`, and not `t.flip(0)`."""
    thing = values.thing(node.func, frame)
    return thing is not None and thing.kind == "external" and api.is_torchs_own(thing.dotted) and bool(node.args)
