"""Functions that move whatever they are given, and call themselves for the parts of it: `to_device(batch, device)`.

    def to_device(data, device):
        if torch.is_tensor(data):
            return data.to(device, non_blocking=True)
        if isinstance(data, dict):
            return {name: to_device(part, device) for name, part in data.items()}
        return [to_device(part, device) for part in data]

What such a call gives is what it is given, a batch or a tensor, on that device; its own results only say so together.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.passed import argument_for
from torchperf_lint.facts.devices.devices import target_device
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import below, nodes_of
from torchperf_lint.facts.values.value import DEVICE, UNKNOWN, Frame, Value
from torchperf_lint.model import Confidence

if TYPE_CHECKING:
    from torchperf_lint.facts.call_graph.index import FunctionKey
    from torchperf_lint.facts.values.values import Values

_SHORT = 30
"""Lines of a function that does little else."""
_VIEWS = frozenset({"detach", "contiguous", "float", "long", "clone"})


def moved_with_its_parts(values: Values, node: ast.Call, key: FunctionKey, frame: Frame) -> Value:
    """What a call of such a function gives; unknown for other functions."""
    function, body = values.index.function(key), values.body(key.path)
    made = body.functions.get(key.index) if body is not None else None
    if body is None or not isinstance(made, ast.FunctionDef) or function.end_line - function.line > _SHORT:
        return UNKNOWN
    if len(function.parameters) <= function.bound:
        return UNKNOWN
    name = function.parameters[function.bound].name
    moves = _moves(made, name)
    if not moves or not _calls_itself(made):
        return UNKNOWN
    argument = argument_for(node, function, name)
    given = values.of(argument, frame) if argument is not None else UNKNOWN
    if given.kind not in ("tensor", "batch"):
        return UNKNOWN
    for move in moves:
        there = frame.hop(key.path, key.index, body.at(move))
        if last_part(chain(move.func)) != "cuda" and target_device(values, move, there) != DEVICE:
            return UNKNOWN
    because = f"`{last_part(chain(node.func))}(...)` moves what it is given, part by part (line {moves[0].lineno})"
    return given._replace(device=DEVICE, because=because, borrowed=False, entries=()).weaker(Confidence.LIKELY)


def moved_part_by_part(values: Values, node: ast.Call, frame: Frame) -> ast.expr | None:
    """What a call of such a function moves to the device; None for other calls."""
    targets = values.types.targets(frame.path, frame.function, chain(node.func)) if node.args else []
    moved = len(targets) == 1 and moved_with_its_parts(values, node, targets[0], frame).kind != "unknown"
    return node.args[0] if moved else None


def _moves(function: ast.FunctionDef, name: str) -> list[ast.Call]:
    """The results, or what the parameter is bound to anew, that are the parameter on another device."""
    held = (n.value for n in nodes_of(function) if isinstance(n, ast.Return | ast.Assign) and n.value is not None)
    either = ([value.body, value.orelse] if isinstance(value, ast.IfExp) else [value] for value in held)
    return [side for sides in either for side in sides if isinstance(side, ast.Call) and _is_move(side, name)]


def _is_move(call: ast.Call, name: str) -> bool:
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("to", "cuda"):
        return False
    moved = below(call.func.value, _VIEWS)
    return isinstance(moved, ast.Name) and moved.id == name


def _calls_itself(function: ast.FunctionDef) -> bool:
    """`to_device(part, device)`, `self.to_device(part)`."""
    calls = (n for n in nodes_of(function) if isinstance(n, ast.Call))
    return any(last_part(chain(call.func)) == function.name for call in calls)
