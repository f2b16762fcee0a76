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

    Also in a file that switches gradients off for a whole process: `torch.set_grad_enabled(False)`.
    """
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


def _is_called_off(project: Project, name: str) -> bool:
    """Whether a call of something of this name stands where gradients are off."""
    if name not in project.index.called_names:
        return False
    off = project.hotness.grad_mode.is_off_at
    for path, outline in project.index.outlines.items():
        named = [call for call in outline.calls if last_part(call.callee) == name]
        if named and (_FOR_ALL.search(project.text(path)) or any(off(path, (c.line, c.column)) for c in named)):
            return True
    return False
