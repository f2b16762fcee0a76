"""Modules that hold a parameter or two and no layers, as losses with learned centers or weights do.

    class CenterLoss(nn.Module):                                  for p in center_loss.parameters():     # one turn
        def __init__(self, classes, width):                           p.grad.data *= 1.0 / weight
            super().__init__()
            self.centers = nn.Parameter(torch.randn(classes, width))
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.index import FunctionKey, Thing
from torchperf_lint.facts.project import Project
from torchperf_lint.facts.value import Frame
from torchperf_lint.patterns import pattern

_PARAMETER = pattern(r"^torch\.nn\.(?:parameter\.)?Parameter$")
_NO_MODULE = pattern(r"^(?:builtins|math|copy|numpy)\.\w+$|^torch\.[a-z]\w*$|^torch\.nn\.(?:parameter|init)\.\w+$")
"""What makes numbers and tensors, and nothing that holds parameters of its own."""


def parameters_alone(project: Project, module: Thing | None) -> int | None:
    """How many parameters a class of the project holds, where its constructor makes no layers; None where unknown."""
    if module is None or module.kind not in ("class", "instance"):
        return None
    index = project.index
    if tuple(base.dotted for base in index.bases(module._replace(kind="class"))) != ("torch.nn.Module",):
        return None
    body, methods = project.body(module.path), index.record(module).methods
    if body is None or "__init__" not in methods:
        return None
    key = FunctionKey(module.path, methods["__init__"])
    if any(isinstance(node, ast.For | ast.While) for node in ast.walk(body.functions[key.index])):
        return None
    made = [value for _, value, _ in body.self_assignments(key.index)]
    held = [value for value in made if _makes_parameter(project, key, value)]
    names = {name for name, value, _ in body.self_assignments(key.index) if value in held}
    rest = (call for value in made if value not in held for call in ast.walk(value) if isinstance(call, ast.Call))
    return len(names) if names and all(_NO_MODULE.match(_dotted(project, key, call)) for call in rest) else None


def _makes_parameter(project: Project, key: FunctionKey, value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and _PARAMETER.match(_dotted(project, key, value)) is not None


def _dotted(project: Project, key: FunctionKey, call: ast.Call) -> str:
    body = project.body(key.path)
    assert body is not None
    thing = project.values.thing(call.func, Frame(key.path, key.index, body.at(call.func)))
    return thing.dotted if thing is not None and thing.kind == "external" else ""
