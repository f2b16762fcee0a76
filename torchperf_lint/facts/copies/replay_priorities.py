"""Values that a replay memory on the host draws the next batch by: how wrong the samples were that it has given.

    rows, states, actions = memory.sample(64)
    ...
    memory.update_priorities(rows, errors.detach().cpu().numpy())

The memory gets back the numbers of the samples with them, and has to have both before it draws again.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.syntax.arguments import arguments
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.enclosing import Enclosing
from torchperf_lint.facts.syntax.syntax import names_of

_HOPS = 3
"""Names through which a value is followed: `errors = x.cpu().numpy()`, `priorities = abs(errors) + 1e-6`."""


def sets_priorities(site: Site) -> bool:
    """Whether what a copy brings goes, with what an object's `sample` has given, to a method of the same object."""
    around = site.file.enclosing(site.function)
    drawn = _drawn(around)
    return bool(drawn) and _arrives(around, site.call, drawn, _HOPS)


def _drawn(around: Enclosing) -> dict[str, set[str]]:
    """Object -> the names that its `sample` gives values to."""
    found: dict[str, set[str]] = {}
    for node in around.of_kinds((ast.Assign,)):
        called = node.value.func if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) else None
        if isinstance(node, ast.Assign) and isinstance(called, ast.Attribute) and called.attr == "sample":
            found.setdefault(chain(called.value), set()).update(*(names_of(target) for target in node.targets))
    return found


def _arrives(around: Enclosing, node: ast.AST, drawn: dict[str, set[str]], hops: int) -> bool:
    for parent in around.ancestors(node):
        if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and parent.func is not node:
            rows = drawn.get(chain(parent.func.value), set())
            if any(isinstance(part, ast.Name) and part.id in rows for part in arguments(parent)):
                return True
        elif isinstance(parent, ast.Assign):
            names = {target.id for target in parent.targets if isinstance(target, ast.Name)}
            uses = _read_below(around, names, parent) if hops else []
            return any(_arrives(around, use, drawn, hops - 1) for use in uses)
        elif isinstance(parent, ast.stmt):
            return False
        node = parent
    return False


def _read_below(around: Enclosing, names: set[str], statement: ast.stmt) -> list[ast.Name]:
    read = (node for node in around.of_kinds((ast.Name,)) if isinstance(node, ast.Name) and node.id in names)
    return [node for node in read if isinstance(node.ctx, ast.Load) and node.lineno > statement.lineno]
