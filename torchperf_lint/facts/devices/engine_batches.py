"""The batch that an ignite engine hands to its update function: as the loader made it, on the host.

    def create(model, optimizer, device):
        def _update(engine, batch):
            x, y = batch                            # <- from the loader of `run`
            loss = criterion(model(x.to(device)), y.to(device))
            ...
        return Engine(_update)

    create(model, optimizer, "cuda").run(loader, max_epochs=10)

Engines move nothing: what moves a batch is the function's own first lines, or `prepare_batch` of ignite's own trainers.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import FunctionKey, Thing
from torchperf_lint.facts.outlines.records import END_OF_FILE, Function, Parameter, Position
from torchperf_lint.facts.roles.framework_hooks import engine_role
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import DEVICE, HOST, Frame, Value
from torchperf_lint.model import Confidence

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_MAX_RUNS = 8
_OF_ITS_OWN = "the batch of an ignite engine, which moves none"


def batch_of_engine(values: Values, key: FunctionKey, function: Function, parameter: Parameter) -> Value | None:
    """What the second parameter of `update(engine, batch)` is; None for other functions and parameters."""
    if parameter is not function.parameters[-1] or engine_role(function) is None or function.name == "__call__":
        return None
    if not values.index.outlines[key.path].imports_from("ignite") or values.hotness.callers.get(key):
        return None
    loaders = _run_over(values, key)
    if not loaders or None in loaders:
        return None
    origins = tuple(sorted({origin for loader in loaders if loader is not None for origin in loader.origins}))
    return Value("batch", HOST, _OF_ITS_OWN, Confidence.LIKELY, origins=origins)


def _run_over(values: Values, key: FunctionKey) -> list[Value | None]:
    """What the engines of a function are told to run over; None for what may be no loader, or hands over moved ones."""
    if values.engine_runs is None:
        values.engine_runs = _runs(values)
    found: list[Value | None] = []
    for node, frame in values.engine_runs.get(key, ())[:_MAX_RUNS]:
        value = values.of(node, frame)
        is_loader = value.kind == "loader" or (value.kind == "unknown" and _is_parameter(values, node, frame))
        found.append(value if is_loader and value.device != DEVICE else None)
    return found


def _is_parameter(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether it is what the function was given, and nothing else."""
    body, function = values.body(frame.path), values.index.outlines[frame.path].functions[frame.function]
    if body is None or not isinstance(node, ast.Name) or node.id not in {one.name for one in function.parameters}:
        return False
    return not body.reaching(frame.function, node.id, frame.at)


def _runs(values: Values) -> dict[FunctionKey, list[tuple[ast.expr, Frame]]]:
    """Update function -> the first argument of each `run` of an engine that is made of it."""
    table: dict[FunctionKey, list[tuple[ast.expr, Frame]]] = {}
    for path, outline in values.index.outlines.items():
        body = None
        for call in outline.calls:
            if not call.callee.endswith(".run"):
                continue
            body = body or values.body(path)
            node = body.node_of(call) if body is not None else None
            if node is None or not isinstance(node.func, ast.Attribute):
                continue
            given = node.args[0] if node.args else next((k.value for k in node.keywords if k.arg == "data"), None)
            key = _update_of(values, node.func.value, path, call.function, (call.line, call.column), 3)
            if key is not None and given is not None:
                table.setdefault(key, []).append((given, Frame(path, call.function, (call.line, call.column))))
    return table


def _update_of(
    values: Values, node: ast.expr, path: str, function: int, at: Position, steps: int
) -> FunctionKey | None:
    """The function that an engine is made of, whether it is made here, above, or by a function of the project."""
    body = values.body(path)
    if body is None or not steps:
        return None
    if isinstance(node, ast.Name):
        functions = values.index.outlines[path].functions
        while function >= 0:
            if body.reaching(function, node.id, at) is not None:
                made = body.assigned_once(function, node.id, at)
                return _update_of(values, made, path, function, body.at(made), steps) if made is not None else None
            function, at = functions[function].parent, END_OF_FILE
        return None
    if not isinstance(node, ast.Call):
        return None
    if last_part(chain(node.func)) == "Engine":
        things = values.types.bound_to(path, function, chain(node.args[0])) if node.args else ()
        keys = [FunctionKey(thing.path, thing.index) for thing in things if _is_function(thing)]
        return keys[0] if len(keys) == 1 else None
    targets = values.types.targets(path, function, chain(node.func))
    there = values.body(targets[0].path) if len(targets) == 1 else None
    returned = there.returns(targets[0].index) if there is not None else []
    if there is None or len(returned) != 1:
        return None
    result = returned[0]
    return _update_of(values, result, targets[0].path, targets[0].index, there.at(result), steps - 1)


def _is_function(thing: Thing) -> bool:
    return thing.kind == "function"
