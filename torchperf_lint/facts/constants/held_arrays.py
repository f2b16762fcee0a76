"""Arrays of numpy's that an object keeps since it was built, also where a helper is given them for every step.

def extract(table, steps):                                   extract(self.alphas, t)
    return torch.from_numpy(table).to(steps.device)[steps]
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.constants.constants import constancy
from torchperf_lint.facts.constants.held import changed_in, held_since_construction
from torchperf_lint.facts.outlines.records import Function
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.facts.values.values import Values

_TAKE_NO_TENSOR = frozenset({"from_numpy", "tensor"})
"""Functions of torch that are given arrays or lists; of a tensor, `torch.tensor` warns."""
_KEEP = frozenset({"astype", "copy"})
_MAX_CALLERS = 24
_MAX_HOPS = 3


def held_array(values: Values, made: ast.Call, data: ast.expr, frame: Frame) -> bool:
    """Whether what `torch.from_numpy` is given is the same array at every step, kept by an object."""
    data, converted = _below(data)
    array = converted or last_part(chain(made.func)) in _TAKE_NO_TENSOR
    return array and _is_held(values, data, frame, _MAX_HOPS)


def _below(node: ast.expr) -> tuple[ast.expr, bool]:
    """What an array is converted from, and whether it is: `table.astype(np.float32)`, `np.asarray(table)`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in _KEEP and chain(node.func.value) != "np":
            return node.func.value, node.func.attr == "astype"
        if node.func.attr in ("array", "asarray") and node.args:
            return node.args[0], False
    return node, False


def _is_held(values: Values, node: ast.expr, frame: Frame, hops: int) -> bool:
    if isinstance(node, ast.Attribute):
        return held_since_construction(values, node, frame) and _is_set_once(values, node, frame)
    if isinstance(node, ast.BinOp):
        parts = [part for part in (node.left, node.right) if constancy(values, part, frame) is None]
        return all(_is_held(values, part, frame, hops) for part in parts)
    if isinstance(node, ast.Call) and chain(node.func).startswith(("np.", "numpy.")) and len(node.args) == 1:
        return _is_held(values, node.args[0], frame, hops)
    if not isinstance(node, ast.Name) or not hops:
        return False
    body = values.body(frame.path)
    key = FunctionKey(frame.path, frame.function)
    record = values.index.function(key)
    if body is None or body.reaching(frame.function, node.id, frame.at):
        return False
    if not any(parameter.name == node.id for parameter in record.parameters):
        return False
    callers = values.hotness.callers.get(key, ())[:_MAX_CALLERS]
    held = [_gives_held(values, site, record, node.id, hops - 1) for site in callers]
    return sum(held) * 2 > len(held)  # it is a helper for tables then, whatever else it is once given


def _is_set_once(values: Values, node: ast.Attribute, frame: Frame) -> bool:
    """Whether nothing but constructors sets an attribute: a roll-out, which is no step, fills what it observes."""
    own = values.index.class_of(frame.path, frame.function)
    changed = [key for cls in values.index.ancestry(own) for key in changed_in(values, cls, node.attr)] if own else []
    return all(values.index.function(key).name == "__init__" for key in changed)


def _gives_held(values: Values, site: CallSite, function: Function, name: str, hops: int) -> bool:
    call = call_at(values, site)
    argument = argument_for(call, function, name) if call is not None else None
    at = Frame(site.path, site.call.function, (site.call.line, site.call.column))
    if argument is None or (isinstance(argument, ast.Attribute) and not _is_set_once(values, argument, at)):
        return False
    return constancy(values, argument, at) is not None or _is_held(values, argument, at, hops)
