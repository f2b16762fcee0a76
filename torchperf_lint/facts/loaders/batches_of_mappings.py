"""Batches that are mappings, as the code shows that moves them through a helper for batches of any kind.

    def to_device(self, x):                                   self.data = self.to_device(data)
        if isinstance(x, dict):                               loss = model(self.data["image"])
            for key, item in x.items():
                x[key] = item.to(self.device)                 the copy of each step is this one,
        else:
            x = x.to(self.device)                             and never this
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.literals import is_text
from torchperf_lint.facts.values.value import Frame

if TYPE_CHECKING:
    from torchperf_lint.facts.files.hot_callers import HotCaller
    from torchperf_lint.facts.values.values import Values

_MAPPINGS = ("dict", "Dict", "Mapping")


def mapping_of(values: Values, node: ast.Name, frame: Frame) -> ast.Name | None:
    """The mapping whose values a loop takes, `x` of `for key, item in x.items()`, where `x` was asked to be one."""
    body = values.body(frame.path)
    reaching = body.reaching(frame.function, node.id, frame.at) if body is not None else None
    only = reaching[0] if reaching and len(reaching) == 1 else None
    taken = only.value if only is not None and only.how == "loop" else None
    if body is None or only is None or not isinstance(taken, ast.Call) or not isinstance(taken.func, ast.Attribute):
        return None
    values_of_it = (taken.func.attr, only.index) in (("items", (1,)), ("values", ()))
    whole = taken.func.value
    asked = isinstance(whole, ast.Name) and is_asked(body, whole.id, frame._replace(at=body.at(whole))) is True
    return whole if values_of_it and asked and isinstance(whole, ast.Name) else None


def is_asked(body: Body, name: str, frame: Frame) -> bool | None:
    """Whether a name is known to be a mapping at a place, or to be none; None where nobody asked."""
    asked = body.narrowing(frame.function, name, frame.at)
    if asked is None or not any(kind in asked.classes for kind in _MAPPINGS):
        return None
    return asked.holds


def passes_mapping(values: Values, caller: HotCaller) -> bool:
    """Whether what a call gives back, or what it is given, is asked for an entry by name where it stands."""
    body, function = values.body(caller.frame.path), caller.frame.function
    if body is None:
        return False
    made = (s.targets for s in body.statements(function) if isinstance(s, ast.Assign) and s.value is caller.call)
    named = {chain(target) for targets in made for target in targets} | {chain(a) for a in caller.call.args}
    own = values.index.class_of(caller.frame.path, function)
    methods = values.index.record(own).methods.values() if own is not None and own.path == caller.frame.path else ()
    held = {name for name in named if name.startswith("self.")}
    inside = [(function, named), *((method, held) for method in methods if held)]
    return any(_asks_by_name(body.functions[where], names) for where, names in inside if where in body.functions)


def _asks_by_name(function: ast.AST, names: set[str]) -> bool:
    parts = (node for node in ast.walk(function) if isinstance(node, ast.Subscript) and is_text(node.slice))
    return any(chain(part.value) in names for part in parts)
