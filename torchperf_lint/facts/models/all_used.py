"""Modules of which each forward pass uses every parameter, as far as their classes can be read.

Asked where distributed training is told to look for parameters that a pass has not used.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.call_graph.index import FunctionKey, Thing
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.patterns import pattern

_MAX_DEPTH = 4
_WHOLE = pattern(
    r"^torchvision\.models\.(?:\w+\.)?(?:wide_)?(?:resnet|resnext|vgg|densenet|mobilenet|efficientnet|convnext|vit_|"
    r"swin|regnet|shufflenet|squeezenet|alexnet|mnasnet)\w*$"
)
"""Classifiers without auxiliary heads."""
_MOVED = pattern(r"\(\)(?:\.(?:to|cuda|train|float)\(\))*$")
_PLAIN = pattern(r"^(?:builtins|math|copy)\.\w+$|^torch\.(?!load|hub)\w+$|^torch\.nn\.(?:\w+\.)*\w+$")
"""What may be called to make an attribute: layers, tensors, numbers."""
_BRANCHES = (
    *(ast.If, ast.IfExp, ast.While, ast.Try, ast.Match, ast.BoolOp, ast.Break, ast.Continue, ast.With),
    *(ast.FunctionDef, ast.Lambda, ast.Starred, ast.Raise),
)
_CUTS = frozenset({"detach", "no_grad", "rand", "random", "checkpoint", "item", "data"})


def uses_all_parameters(project: Project, model: Thing | None, depth: int = 0) -> bool:
    """Whether a class's forward pass is one straight line through everything that its constructor makes."""
    if model is None or depth > _MAX_DEPTH:
        return False
    if model.kind == "external":
        return bool(_WHOLE.match(_MOVED.sub("", model.dotted)))
    index = project.index
    if model.kind not in ("class", "instance"):
        return False
    if tuple(base.dotted for base in index.bases(model._replace(kind="class"))) != ("torch.nn.Module",):
        return False
    methods = index.record(model).methods
    body = project.body(model.path)
    if body is None or "forward" not in methods or "__init__" not in methods:
        return False
    read = _straight_reads(body.functions[methods["forward"]])
    if read is None or read & set(methods):
        return False
    key = FunctionKey(model.path, methods["__init__"])
    if any(isinstance(node, ast.If | ast.Try) for node in ast.walk(body.functions[key.index])):
        return False
    made = body.self_assignments(key.index)
    return all(_is_used(project, key, name, value, read, depth) for name, value, _ in made)


def _straight_reads(forward: ast.AST) -> set[str] | None:
    """The attributes of `self` that a function without branches reads."""
    nodes = [node for statement in forward.body for node in ast.walk(statement)]  # type: ignore[attr-defined]
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    if any(isinstance(node, _BRANCHES) for node in nodes) or any(node.attr in _CUTS for node in attributes):
        return None
    if sum(isinstance(node, ast.Return) for node in nodes) != 1:
        return None
    return {n.attr for n in attributes if isinstance(n.value, ast.Name) and n.value.id == "self"}


def _is_used(project: Project, key: FunctionKey, name: str, value: ast.expr, read: set[str], depth: int) -> bool:
    calls = [node for node in ast.walk(value) if isinstance(node, ast.Call)]
    if calls and name not in read:
        return all(_dotted(project, key, call).startswith(("builtins.", "math.")) for call in calls)
    return all(_is_whole(project, key, call, depth) for call in calls)


def _is_whole(project: Project, key: FunctionKey, call: ast.Call, depth: int) -> bool:
    if _PLAIN.match(_dotted(project, key, call)):
        return True
    thing = _thing(project, key, call.func)
    return thing is not None and uses_all_parameters(project, thing, depth + 1)


def _dotted(project: Project, key: FunctionKey, call: ast.Call) -> str:
    thing = _thing(project, key, call.func)
    return thing.dotted if thing is not None and thing.kind == "external" else ""


def _thing(project: Project, key: FunctionKey, node: ast.expr) -> Thing | None:
    body = project.body(key.path)
    assert body is not None
    return project.values.thing(node, Frame(key.path, key.index, body.at(node)))
