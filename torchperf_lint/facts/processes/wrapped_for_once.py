"""Models wrapped in DataParallel for one forward pass, as a demonstration of one image runs: no time is lost there.

model = nn.DataParallel(model)
model.eval()
print(model(image.unsqueeze(0)))
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.source import Site

_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_MANAGED = frozenset("eval cuda to load_state_dict module train state_dict requires_grad_ half float".split())
"""What is asked of a model besides its outputs."""


def is_wrapped_for_once(site: Site) -> bool:
    """Whether a function evaluates the model that it wraps in single calls, outside loops, and hands it to nobody.

    Nor does a loop call the function.
    """
    name = evaluated_name(site)
    hotness, body = site.file.project.hotness, site.file.project.body(site.file.path)
    if name is None or body is None or hotness.around.turns(site.file.path, site.record.region):
        return False
    callers = hotness.callers.get(FunctionKey(site.file.path, site.function), ())
    if any(hotness.around.turns(caller.path, caller.call.region) for caller in callers):
        return False
    enclosing = site.file.enclosing(site.function)
    calls = 0
    for use in enclosing.of_kinds((ast.Name,)):
        if not isinstance(use, ast.Name) or use.id != name or isinstance(use.ctx, ast.Store):
            continue
        if body.at(use) <= body.at(site.call) or use in ast.walk(site.call):
            continue
        parent = enclosing.parents.get(use)
        called = isinstance(parent, ast.Call) and parent.func is use
        forward = isinstance(parent, ast.Attribute) and parent.attr == "forward"
        if not called and not forward and not (isinstance(parent, ast.Attribute) and parent.attr in _MANAGED):
            return False
        if (called or forward) and any(isinstance(around, _LOOPS) for around in enclosing.around(use)):
            return False
        calls += called or forward
    return calls > 0


def evaluated_name(site: Site) -> str | None:
    """The name that a function gives what it wraps, where it puts that into evaluation mode, and never back."""
    enclosing = site.file.enclosing(site.function)
    statement = enclosing.statement(site.call)
    target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    if not isinstance(target, ast.Name):
        return None
    modes = [
        call.func.attr
        for call in enclosing.of_kinds((ast.Call,))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == target.id
        and call.func.attr in ("eval", "train")
    ]
    return target.id if modes and set(modes) == {"eval"} else None
