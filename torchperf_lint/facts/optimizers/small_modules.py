"""Modules that hold a parameter or two and no layers, as losses with learned centers or weights do.

    class CenterLoss(nn.Module):                                  for p in center_loss.parameters():     # one turn
        def __init__(self, classes, width):                           p.grad.data *= 1.0 / weight
            super().__init__()
            self.centers = nn.Parameter(torch.randn(classes, width))
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.call_graph.index import FunctionKey, Thing
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.patterns import pattern

_PARAMETER = pattern(r"^torch\.nn\.(?:parameter\.)?Parameter$")
_NO_MODULE = pattern(r"^(?:builtins|math|copy|numpy)\.\w+$|^torch\.[a-z]\w*$|^torch\.nn\.(?:parameter|init)\.\w+$")
"""What makes numbers and tensors, and nothing that holds parameters of its own."""
_LIBRARY = pattern(r"^(?:builtins|math|copy|numpy|torch)(?:\.|$)")
_LAYER = pattern(r"^torch\.nn\.(?:Linear|Bilinear|Conv(?:Transpose)?[123]d|Embedding|\w+Norm(?:[123]d)?)(?:\(\))?$")
_SIZED = pattern(r"^torch\.(?:randn?|zeros|ones|empty|full|eye)$")
_ADDS_NOTHING = pattern(r"^\w+\.(?:register_buffer$|_?(?:reset|init))")
"""Methods that are called in constructors and add no layers, by their names."""
_PLAIN = frozenset(("int", "float", "bool", "str"))


def parameters_alone(project: Project, module: Thing | None) -> int | None:
    """How many parameters a class of the project holds, where its constructor makes no layers; None where unknown.

    A layer of torch's own has a weight and a bias.
    """
    if module is not None and module.kind == "external" and _LAYER.match(module.dotted):
        return 2
    if module is None or module.kind not in ("class", "instance"):
        return None
    index = project.index
    if tuple(base.dotted for base in index.bases(module._replace(kind="class"))) != ("torch.nn.Module",):
        return None
    body, methods = project.body(module.path), index.record(module).methods
    if body is None or "__init__" not in methods:
        return None
    key = FunctionKey(module.path, methods["__init__"])
    constructor = body.functions[key.index]
    if not isinstance(constructor, ast.FunctionDef) or not _shows_all(constructor):
        return None
    made = [value for _, value, _ in body.self_assignments(key.index)]
    held = [value for value in made if _makes_parameter(project, key, value)]
    names = {name for name, value, _ in body.self_assignments(key.index) if value in held}
    numbers = frozenset(_numbers(project, key, constructor)) | {_own(constructor)}
    return len(names) if names and all(_is_plain(project, key, v, numbers) for v in made if v not in held) else None


def _own(constructor: ast.FunctionDef) -> str:
    return constructor.args.args[0].arg if constructor.args.args else ""


def _shows_all(constructor: ast.FunctionDef) -> bool:
    """Whether assignments alone give a module what it holds: no loop, no `self.add_module(...)`, no `setattr(self)`."""
    own = _own(constructor)
    for node in ast.walk(constructor):
        if isinstance(node, ast.For | ast.While) or (isinstance(node, ast.Subscript) and _is_of(node, own)):
            return False
        if isinstance(node, ast.Call):
            given = any(isinstance(argument, ast.Name) and argument.id == own for argument in node.args)
            if given and chain(node.func) != "super":
                return False
            if _is_of(node.func, own) and not _ADDS_NOTHING.match(chain(node.func)):
                return False
    return True


def _is_of(node: ast.expr, own: str) -> bool:
    """`self.build`, and `self._modules["net"]` where something is stored."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.ctx, ast.Store) and chain(node.value).startswith(f"{own}.")
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == own


def _numbers(project: Project, key: FunctionKey, constructor: ast.FunctionDef) -> Iterator[str]:
    """The parameters of a constructor that are plainly numbers or texts: by annotation, by default, as a size."""
    own = constructor.args
    for parameter in (*own.posonlyargs, *own.args, *own.kwonlyargs):
        if parameter.annotation is not None and chain(parameter.annotation) in _PLAIN:
            yield parameter.arg
    positional = (*own.posonlyargs, *own.args)
    given = [*zip(positional[len(positional) - len(own.defaults) :], own.defaults, strict=True)]
    for parameter, default in (*given, *zip(own.kwonlyargs, own.kw_defaults, strict=True)):
        if isinstance(default, ast.Constant) and default.value is not None:
            yield parameter.arg
    for node in ast.walk(constructor):
        if isinstance(node, ast.Call) and _SIZED.match(_dotted(project, key, node)):
            for size in node.args:
                parts = size.elts if isinstance(size, ast.Tuple) else [size]
                yield from (part.id for part in parts if isinstance(part, ast.Name))


def _is_plain(project: Project, key: FunctionKey, value: ast.expr, numbers: frozenset[str]) -> bool:
    """Whether what an attribute is set to holds no layers: made of numbers, by functions that make no modules."""
    calls = [node for node in ast.walk(value) if isinstance(node, ast.Call)]
    names = [node for node in ast.walk(value) if isinstance(node, ast.Name)]
    return all(_NO_MODULE.match(_dotted(project, key, call)) for call in calls) and all(
        name.id in numbers or _LIBRARY.match(_denoted(project, key, name)) for name in names
    )


def _makes_parameter(project: Project, key: FunctionKey, value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and _PARAMETER.match(_dotted(project, key, value)) is not None


def _dotted(project: Project, key: FunctionKey, call: ast.Call) -> str:
    return _denoted(project, key, call.func)


def _denoted(project: Project, key: FunctionKey, node: ast.expr) -> str:
    body = project.body(key.path)
    assert body is not None
    thing = project.values.thing(node, Frame(key.path, key.index, body.at(node)))
    return thing.dotted if thing is not None and thing.kind == "external" else ""
