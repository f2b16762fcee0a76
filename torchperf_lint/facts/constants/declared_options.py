"""Where the options of a project are declared: beside the line that asks for one, or in another file."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from weakref import WeakKeyDictionary

from torchperf_lint.facts.bindings.option_declarations import declared_in, default, may_declare, option_named
from torchperf_lint.facts.constants.options_set import files_with
from torchperf_lint.facts.files.project import Project

_declarations: WeakKeyDictionary[Project, dict[str, Sequence[tuple[str, ast.Call]]]] = WeakKeyDictionary()
"""Name of an option -> (path, call) where it is declared."""


def declarations(project: Project, node: ast.expr, path: str) -> Sequence[tuple[str, ast.Call]]:
    """(path, call) where the option is declared that `args.name` is in the file `path`: there, or else anywhere.

    Nothing for what is no option, or whose declaration is not seen.
    """
    name = option_named(node)
    declared = _declared(project, name) if name else ()
    return [(where, call) for where, call in declared if where == path] or declared


def defaults(project: Project, node: ast.expr, path: str) -> list[object]:
    """The constants that an option is unless somebody asks, one for each declaration; None where one names none."""
    found = [default(call) for _, call in declarations(project, node, path)]
    return [one.value if isinstance(one, ast.Constant) else None for one in found]


def _declared(project: Project, name: str) -> Sequence[tuple[str, ast.Call]]:
    """The declarations of an option; asked for again and again, and looked for once."""
    known = _declarations.setdefault(project, {})
    if name not in known:
        known[name] = list(_find_declared(project, name))
    return known[name]


def _find_declared(project: Project, name: str) -> Iterator[tuple[str, ast.Call]]:
    for path in files_with(project, name):
        outline = project.index.outlines[path]
        body = project.body(path) if may_declare(outline) else None
        if body is not None:
            yield from ((path, call) for call in declared_in(outline, body, name))
