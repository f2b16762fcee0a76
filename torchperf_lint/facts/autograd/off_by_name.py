"""Functions that somebody may run without gradients through an object that nobody can follow, by their names.

agent = args.agent
with torch.no_grad():
    trajectory = agent.explore_env(env, steps)         # which calls `self.select_action(state)`
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.patterns import pattern

_FOR_ALL = pattern(r"^[ \t]*(?:torch|th)\.set_grad_enabled\(False\)", re.MULTILINE)
_AGENTS = pattern(r"\bagents?\b")
_COMMON = frozenset("step train learn update run main fit forward reset".split())
"""Names that say nothing of whose method is called."""
_UP = 3
"""How many calls up a function is followed, as grad_mode.py does through callers that are known."""


def may_be_off_by_name(project: Project, key: FunctionKey) -> bool:
    """Whether a function, or one that calls it, has no caller in sight, and is called by its name under `no_grad`.

    Also where a file that speaks of agents switches gradients off for its process: `torch.set_grad_enabled(False)`.
    """
    if "set_grad_enabled" in project.index.called_names and any(map(_runs_agents_off, _texts(project))):
        return True
    pending, seen = [(key, _UP)], {key}
    while pending:
        current, left = pending.pop()
        callers = project.hotness.callers.get(current, ())
        if not callers and _is_called_off(project, project.index.function(current).name):
            return True
        for site in callers if left else ():
            caller = FunctionKey(site.path, site.call.function)
            if caller.index and caller not in seen:
                seen.add(caller)
                pending.append((caller, left - 1))
    return False


def _texts(project: Project) -> Iterator[str]:
    return map(project.text, project.index.outlines)


def _runs_agents_off(text: str) -> bool:
    return "set_grad_enabled" in text and _FOR_ALL.search(text) is not None and _AGENTS.search(text) is not None


def _is_called_off(project: Project, name: str) -> bool:
    """Whether a call of something of this name, and nobody knows of what, stands where gradients are off.

    Or of the method of another class: who runs that one, `self.alg: PPO`, may be given an object of this one.
    """
    if name in _COMMON or name not in project.index.called_names:
        return False
    off = project.hotness.grad_mode.is_off_at
    for path, outline in project.index.outlines.items():
        named = [call for call in outline.calls if last_part(call.callee) == name]
        if not named:
            continue
        for call in named:
            known = project.types.targets(path, call.function, call.callee)
            of_others = all(project.index.function(key).class_index >= 0 for key in known)
            if of_others and off(path, (call.line, call.column)):
                return True
    return False
