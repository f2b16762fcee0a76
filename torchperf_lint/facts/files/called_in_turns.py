"""Functions that a loop inside a step calls for each element: what they wait for, the step waits for in each turn.

    best_paths = [self.best_path(i, seq_lens, score, path) for i in range(batch_size)]
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import call_at
from torchperf_lint.facts.files.source import Place, SourceFile
from torchperf_lint.facts.hotness.hot import called_at
from torchperf_lint.facts.hotness.loop import FEW_TURNS
from torchperf_lint.facts.outlines.guards import literal_turns
from torchperf_lint.facts.syntax.arguments import arguments
from torchperf_lint.facts.syntax.syntax import names_of


def called_in_turns(place: Place) -> bool:
    """Whether the call that makes a place hot stands in a loop, and is given what that binds: not the step loop's.

    What a loop over layers calls is given the result of the layer before, which is another matter.
    """
    file, hot = place.file, place.hot
    at = called_at(hot) if hot is not None else None
    if hot is None or at is None or at[0] != file.path:
        return False
    callers = file.project.hotness.callers.get(FunctionKey(file.path, place.function), ())
    sites = [site for site in callers if (site.path, site.call.line) == at]
    head = file.outline.regions[hot.loop[1]].head if hot.loop is not None and hot.loop[0] == file.path else None
    for site in sites:
        call = call_at(file.project.values, site)
        free = file.project.hotness.around.turns(site.path, site.call.region)
        if call is not None and free and _is_given_a_turn(file, site.call.function, call, head):
            return True
    return False


def _is_given_a_turn(file: SourceFile, function: int, call: ast.Call, head: int | None) -> bool:
    """Whether a call stands in a loop of more than a handful of turns that binds one of its arguments."""
    given = {part.id for argument in arguments(call) for part in ast.walk(argument) if isinstance(part, ast.Name)}
    for loop in file.enclosing(function).loops(call):
        if not isinstance(loop, ast.comprehension) and loop.lineno == head:
            return False
        turns = literal_turns(loop.iter)
        if given & names_of(loop.target) and (turns is None or turns > FEW_TURNS):
            return True
    return False
