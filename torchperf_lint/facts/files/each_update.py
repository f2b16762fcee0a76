"""Code that runs once for each update of an agent: it learns from a whole roll-out in loops of its own.

    def update(self):
        states = torch.tensor(self.states)          # once an update, of all that was gathered
        for _ in range(epochs):
            ...
            loss.backward()

    while not done:
        ...
        agent.update()

Such code is cold where it costs once an update; what it does element by element of what was gathered is not.
"""

from __future__ import annotations

from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.hotness.loop import FEW_TURNS


def each_update(site: Site) -> str | None:
    """Why a call that is not hot runs once an update, in words; None where it does not."""
    project, key = site.file.project, FunctionKey(site.file.path, site.function)
    if site.hot is not None or site.function == 0:
        return None
    if not project.hotness.around.unguarded(site.file.path, site.record.region):
        return None
    for learner in (key, *(FunctionKey(s.path, s.call.function) for s in project.hotness.callers.get(key, ()))):
        line = _learns_at(project, learner) if learner.index else None
        again = next((s for s in project.hotness.callers.get(learner, ()) if _in_a_loop(project, s)), None)
        if line is not None and again is not None:
            name = project.index.function(learner).qualname
            return (
                f"it runs once an update: `{name}` ({learner.path}:{line}) learns in a loop of its own, and a loop "
                f"calls it ({again.path}:{again.call.line})"
            )
    return None


def _learns_at(project: Project, key: FunctionKey) -> int | None:
    """The line of a loop of a function that does training steps."""
    for number, region in enumerate(project.index.outlines[key.path].regions):
        if region.kind == "loop" and region.function == key.index:
            loop = project.hotness.loop_at(key.path, number)
            if loop is not None and loop.kind == "step":
                return region.head
    return None


def _in_a_loop(project: Project, site: CallSite) -> bool:
    """Whether a loop of more than a few turns is around a call, whatever guards stand between."""
    regions, index = project.index.outlines[site.path].regions, site.call.region
    while index >= 0 and regions[index].kind != "function":
        turns = regions[index].turns
        if regions[index].kind == "loop" and (turns is None or turns > FEW_TURNS):
            return True
        index = regions[index].parent
    return False
