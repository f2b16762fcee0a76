"""Indices of a matcher that callers hand on, however far from the matcher: of host tensors, by all who call.

    indices = self.matcher(outputs, targets)                    # host tensors
    losses.update(self.get_loss(kind, outputs, targets, indices))

    def get_loss(self, kind, outputs, targets, indices):
        return losses[kind](outputs, targets, indices)

    def loss_labels(self, outputs, targets, indices):
        rows = self.rows_of(indices)                            # `torch.cat` of them
        target[rows] = 0; logits[rows]                          # each copies them

Asked where what the function itself shows of them is not enough.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.files.spots import Spot
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import HOST, Frame, Value
from torchperf_lint.facts.values.values import Values
from torchperf_lint.model import Confidence

_MAX_CALLERS = 8
_CALLS = 3
"""How many callers in a row may hand them on."""
_BINDINGS = 4
_KEEP_PLACE = frozenset(
    "cat concat stack full_like zeros_like ones_like enumerate zip len range list tuple append extend long int".split()
)
"""What a helper may call that makes indices of indices: on the host, where they are."""


def matched_by_callers(spot: Spot, index: ast.expr) -> str | None:
    """The parameter whose host tensors an index is made of, where several subscripts of the function use those."""
    values, body = spot.file.project.values, spot.file.project.body(spot.file.path)
    if body is None or not isinstance(index, ast.Name):
        return None
    name = _parameter_of(spot, body, index)
    if name is None or _uses(spot, body, name) < 2:
        return None
    return name if _all_give_host_tensors(values, FunctionKey(spot.file.path, spot.function), name, _CALLS) else None


def _parameter_of(spot: Spot, body: Body, index: ast.Name) -> str | None:
    """The parameter that an index is an element of, or that a helper computed it of."""
    given = {parameter.name for parameter in spot.file.outline.functions[spot.function].parameters}
    name = index
    for step in range(_BINDINGS):
        reaching = body.reaching(spot.function, name.id, body.at(name))
        if not reaching:
            return name.id if step and name.id in given else None
        only = reaching[0] if len(reaching) == 1 else None
        value = only.value if only is not None else None
        if only is not None and only.how == "loop":
            value = _gone_through(value, only.index)
        elif isinstance(value, ast.Call) and only is not None and only.how in ("assign", "item"):
            value = _computed_of(spot, value, given)
        if not isinstance(value, ast.Name):
            return None
        name = value
    return None


def _gone_through(node: ast.expr | None, index: tuple[int, ...]) -> ast.expr | None:
    """`indices` of `for t, (_, j) in zip(targets, indices)`, for `j`."""
    place = index[0] if index else 0
    if isinstance(node, ast.Call):
        place = {"zip": place, "enumerate": place - 1}.get(chain(node.func), -1)
        return node.args[place] if 0 <= place < len(node.args) else None
    return node


def _computed_of(spot: Spot, call: ast.Call, given: set[str]) -> ast.expr | None:
    """What a helper of the project is given that puts indices together, and moves none."""
    values = spot.file.project.values
    targets = values.types.targets(spot.file.path, spot.function, chain(call.func))
    body = values.body(targets[0].path) if len(targets) == 1 else None
    if body is None or len(call.args) != 1 or call.keywords or chain(call.args[0]) not in given:
        return None
    callees = body.callees(targets[0].index)
    return call.args[0] if all(last_part(callee) in _KEEP_PLACE for callee in callees) else None


def _uses(spot: Spot, body: Body, name: str) -> int:
    nodes = (node for node in spot.file.enclosing(spot.function).parents if isinstance(node, ast.Subscript))
    taken = (node.slice for node in nodes if isinstance(node.slice, ast.Name))
    return sum(_parameter_of(spot, body, index) == name for index in taken)


def _all_give_host_tensors(values: Values, key: FunctionKey, name: str, calls: int) -> bool:
    """Whether every caller passes tensors of the host for a parameter, or hands on such a parameter of its own."""
    callers, record = values.hotness.callers.get(key, ()), values.index.function(key)
    if not 0 < len(callers) <= _MAX_CALLERS or not calls:
        return False
    for site in callers:
        call, body = call_at(values, site), values.body(site.path)
        argument = argument_for(call, record, name) if call is not None else None
        if not isinstance(argument, ast.Name) or body is None:
            return False
        around = FunctionKey(site.path, site.call.function)
        handed_on = any(parameter.name == argument.id for parameter in values.index.function(around).parameters)
        at = (site.call.line, site.call.column)
        if handed_on and not body.reaching(around.index, argument.id, at):
            if not _all_give_host_tensors(values, around, argument.id, calls - 1):
                return False
        elif not _holds_host_tensors(values.of(argument, Frame(site.path, around.index, at))):
            return False
    return True


def _holds_host_tensors(value: Value) -> bool:
    if value.kind != "sequence":
        return False
    while value.kind == "sequence" and value.item is not None:
        value = value.item
    return value.kind == "tensor" and value.device == HOST and value.confidence is Confidence.CERTAIN
