"""Parameters that callers give modules, and whether a hot call does: `set_device(x)` moves whatever it is given.

    def set_device(args):
        return args.cuda()

    self.net = set_device(net)              # once, in a constructor
    image = set_device(batch["image"])      # each step: another batch, nothing that could be moved once
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.values.value import Frame

_HOPS = 3
"""Functions that hand a parameter on, one to the next."""
_MAX_CALLERS = 12


def takes_modules(project: Project, key: FunctionKey, name: str) -> bool:
    """Whether a caller is known to give a module for a parameter."""
    return any(kind == "module" for _, kind in _given(project, key, name, _HOPS))


def only_others_give_modules(project: Project, key: FunctionKey, name: str) -> bool:
    """Whether modules come to a parameter by calls that are not hot alone, and something else by those that are."""
    given = list(_given(project, key, name, _HOPS))
    return ("module" in {kind for _, kind in given}) and {kind == "module" for hot, kind in given if hot} == {False}


def _given(project: Project, key: FunctionKey, name: str, hops: int) -> Iterator[tuple[bool, str]]:
    """Whether each call that gives something is hot, and the kind of what it gives."""
    function, callers = project.index.function(key), project.hotness.callers.get(key, ())
    if hops == 0 or all(parameter.name != name for parameter in function.parameters):
        return
    for site in callers[:_MAX_CALLERS]:
        call = call_at(project.values, site)
        argument = argument_for(call, function, name) if call is not None else None
        if argument is None:
            continue
        caller = FunctionKey(site.path, site.call.function)
        root = argument.value if isinstance(argument, ast.Subscript) else argument
        handed_on = isinstance(root, ast.Name) and list(_given(project, caller, root.id, hops - 1))
        if handed_on:
            yield from handed_on
            continue
        hot = project.hotness.of_region(site.path, site.call.region)
        frame = Frame(site.path, site.call.function, (site.call.line, site.call.column))
        yield hot is not None, project.values.of(argument, frame).kind
