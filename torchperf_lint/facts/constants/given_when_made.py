"""Numbers that options of a class get from who makes its objects, also by settings that a call spreads.

    fine = dict(num_voxels=160**3, threshold=1e-4)
    model = Grid(bounds, **fine)                        # `threshold=0` by default, and never 0 here
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.bindings.names_of_file import NamesOfFile
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.constants.options_set import files_with
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.syntax.arguments import unpacks_keywords
from torchperf_lint.facts.syntax.literals import literal_of


def is_given_more(project: Project, constructor: FunctionKey, option: str, least: float) -> bool:
    """Whether a call of a constructor gives an option a number above another; of one that spreads settings, whether any
    settings hold such a number by the option's name."""
    record = project.index.function(constructor)
    for site in project.hotness.callers.get(constructor, ()):
        call = call_at(project.values, site)
        given = argument_for(call, record, option) if call is not None else None
        if given is None and call is not None and unpacks_keywords(call):
            if any(_is_more(number, least) for number in _written(project, option)):
                return True
        elif given is not None and _is_more(given, least):
            return True
    return False


def _is_more(node: ast.expr, least: float) -> bool:
    number = literal_of(node)
    return isinstance(number, int | float) and number > least


def _written(project: Project, name: str) -> Iterator[ast.expr]:
    """What code gives a name as a keyword, a variable, or under its key."""
    for path in files_with(project, name):
        body = project.body(path)
        held = NamesOfFile(path, body.functions[0]).given.get(name, ()) if body is not None else ()
        yield from filter(None, held)
