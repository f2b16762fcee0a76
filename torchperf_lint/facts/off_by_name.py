"""Functions that somebody may run without gradients through an object that nobody can follow, by their names.

agent = args.agent
with torch.no_grad():
    trajectory = agent.explore_env(env, steps)         # which calls `self.select_action(state)`
"""

from __future__ import annotations

import re

from torchperf_lint.facts.chains import last_part
from torchperf_lint.facts.index import FunctionKey
from torchperf_lint.facts.project import Project
from torchperf_lint.patterns import pattern

_FOR_ALL = pattern(r"^[ \t]*(?:torch|th)\.set_grad_enabled\(False\)", re.MULTILINE)
_UP = 3
"""How many calls up a function is followed, as grad_mode.py does through callers that are known."""


def may_be_off_by_name(project: Project, key: FunctionKey) -> bool:
    """Whether a call of a function, or of one that calls it, of the same name at least, stands under `no_grad`.

    Also where the project switches gradients off for a whole process: `torch.set_grad_enabled(False)`.
    """
    if "set_grad_enabled" in project.index.called_names and _is_off_for_all(project):
        return True
    pending, seen = [(key, _UP)], {key}
    while pending:
        current, left = pending.pop()
        if _is_called_off(project, project.index.function(current).name):
            return True
        for site in project.hotness.callers.get(current, ()) if left else ():
            caller = FunctionKey(site.path, site.call.function)
            if caller.index and caller not in seen:
                seen.add(caller)
                pending.append((caller, left - 1))
    return False


def _is_off_for_all(project: Project) -> bool:
    """Whether a statement of its own switches gradients off, for whatever runs after it."""
    return any(map(_FOR_ALL.search, map(project.text, project.index.outlines)))


def _is_called_off(project: Project, name: str) -> bool:
    """Whether a call of something of this name stands where gradients are off."""
    if name not in project.index.called_names:
        return False
    off = project.hotness.grad_mode.is_off_at
    return any(
        last_part(call.callee) == name and off(path, (call.line, call.column))
        for path, outline in project.index.outlines.items()
        for call in outline.calls
    )
