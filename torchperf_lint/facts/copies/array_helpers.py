"""Functions of a project that do to an array nothing but what torch does to a tensor as well.

    def flip_back(heatmaps, pairs):
        heatmaps = heatmaps[:, :, :, ::-1]
        for left, right in pairs:
            heatmaps[:, [left, right]] = heatmaps[:, [right, left]]
        return heatmaps

Slices, arithmetic, and functions of numpy that torch has too: what it is given need not have left the device.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from torchperf_lint.facts.bindings.effects import statements
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.syntax import children_of, names_of, nodes_of
from torchperf_lint.facts.syntax.torch_counterparts import counterpart

_LINES = 40
_LOOPS = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp)
_METHODS = api.ARRAY_METHODS - {"item", "tolist", "numpy"} | {"copy", "astype", "swapaxes", "repeat", "ravel"}
_BUILTINS = frozenset({"range", "len", "enumerate", "zip", "reversed", "slice", "int", "float", "isinstance"})
_LOOKS = frozenset({"shape", "ndim", "size", "dtype"})


def computes_as_torch_does(project: Project, key: FunctionKey, call: ast.Call, given: ast.expr) -> bool:
    """Whether a function makes, of one argument of a call, an array that torch could have made on the device."""
    function, body = project.index.function(key), project.body(key.path)
    node = body.functions.get(key.index) if body is not None else None
    if not isinstance(node, ast.FunctionDef) or function.end_line - function.line > _LINES:
        return False
    name = next((p.name for p in function.parameters if argument_for(call, function, p.name) is given), None)
    within = [part for statement in node.body for part in nodes_of(statement)]
    if name is None or any(isinstance(part, ast.While | ast.Try | ast.With | ast.Yield) for part in within):
        return False
    if not all(_is_of_torch(project, key, part) for part in within if isinstance(part, ast.Call)):
        return False
    if any(isinstance(part, _LOOPS) and _turns_inside(part) for part in within):
        return False  # element by element
    if _goes_through(name, node, within) or _chooses_by(name, node, within):
        return False  # each turn, or what is done, waits for what the array holds
    returned = [part.value for part in within if isinstance(part, ast.Return)]
    made = _made_of(name, node)
    return bool(returned) and all(value is not None and _computed_with(value, made) for value in returned)


def _is_of_torch(project: Project, key: FunctionKey, call: ast.Call) -> bool:
    """A method of arrays that tensors have, or a function of numpy that torch has."""
    if isinstance(call.func, ast.Name) and call.func.id in _BUILTINS:
        return True
    thing = project.types.thing(key.path, key.index, chain(call.func))
    if thing is not None and thing.kind == "external":
        factory = thing.dotted.startswith("torch.") and thing.dotted.removeprefix("torch.") in api.SIZED_FACTORIES
        return factory or counterpart(thing.dotted) is not None
    return thing is None and isinstance(call.func, ast.Attribute) and call.func.attr in _METHODS


def _turns_inside(loop: ast.AST) -> bool:
    return any(isinstance(part, _LOOPS) for part in nodes_of(loop) if part is not loop)


def _goes_through(name: str, function: ast.FunctionDef, within: list[ast.AST]) -> bool:
    """Whether a loop counts, or goes over the array or what has its length: torch may have no operation for a scan."""
    touched = _bound_with(name, function, names_of)
    walked = [part.iter for part in within if isinstance(part, ast.For | ast.comprehension)]
    return any(names_of(iterated) & (touched | {"range"}) for iterated in walked)


def _chooses_by(name: str, function: ast.FunctionDef, within: list[ast.AST]) -> bool:
    """Whether a condition reads what the array holds: on the device it would wait for that."""
    read = _bound_with(name, function, _names_read)
    return any(_names_read(part.test) & read for part in within if isinstance(part, ast.If | ast.IfExp))


def _bound_with(name: str, function: ast.FunctionDef, of: Callable[[ast.AST], set[str]]) -> set[str]:
    """A parameter and the names that are bound with it, where `of` gives the names in an expression that count."""
    found = {name}
    for statement in statements(function.body):
        if isinstance(statement, ast.Assign | ast.AugAssign) and of(statement.value) & found:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            parts = (part for target in targets for part in nodes_of(target))
            found |= {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    return found


def _names_read(node: ast.AST) -> set[str]:
    """The names in an expression whose values it reads, and not only what their kind or shape is."""
    found: set[str] = set()
    stack = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, ast.Name):
            found.add(part.id)
        elif not _only_looks(part):
            stack += children_of(part)
    return found


def _only_looks(node: ast.AST) -> bool:
    """`x.shape`, `len(x)`, `isinstance(x, np.ndarray)`, `x is None`."""
    if isinstance(node, ast.Call):
        return chain(node.func) in ("len", "isinstance")
    if isinstance(node, ast.Compare):
        return isinstance(node.ops[0], ast.Is | ast.IsNot)
    return isinstance(node, ast.Attribute) and node.attr in _LOOKS


def _made_of(name: str, function: ast.FunctionDef) -> set[str]:
    """The names that hold an array made of a parameter, itself among them."""
    made = {name}
    for statement in statements(function.body):
        if isinstance(statement, ast.Assign) and _computed_with(statement.value, made):
            made |= {target.id for target in statement.targets if isinstance(target, ast.Name)}
    return made


def _computed_with(node: ast.expr, names: set[str]) -> bool:
    """Whether one array is computed with what has one of these names; its shape alone is no array."""
    if isinstance(node, ast.Tuple | ast.List | ast.Dict | ast.Compare):
        return False
    looked_at = {part.value for part in nodes_of(node) if isinstance(part, ast.Attribute) and part.attr in _LOOKS}
    return any(isinstance(p, ast.Name) and p.id in names and p not in looked_at for p in nodes_of(node))
