"""Whether a partial gives a parameter: who calls what it makes seems to give nothing.

    quick = partial(loader_of, workers=8)
    quick(rows)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from weakref import WeakKeyDictionary

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.syntax.arguments import keyword, unpacks
from torchperf_lint.facts.syntax.chains import chain, last_part

_PARTIALS = ("partial", "partialmethod")
_known: WeakKeyDictionary[Project, dict[str, list[ast.Call]]] = WeakKeyDictionary()


def is_given_by_partials(project: Project, function: str, parameter: str) -> bool:
    """Whether a partial of a function by this name may give a parameter: by its name, by place, by `**options`."""
    if project not in _known:
        found: dict[str, list[ast.Call]] = {}
        for name, call in _partials(project):
            found.setdefault(name, []).append(call)
        _known[project] = found
    made = _known[project].get(function, ())
    return any(len(call.args) > 1 or unpacks(call) or keyword(call, parameter) is not None for call in made)


def _partials(project: Project) -> Iterator[tuple[str, ast.Call]]:
    """(last name of the function, call) of each partial of the project."""
    for path, outline in project.index.outlines.items():
        for call in outline.calls:
            body = project.body(path) if last_part(call.callee) in _PARTIALS else None
            node = body.node_of(call) if body is not None else None
            if node is not None and node.args:
                yield last_part(chain(node.args[0])), node
