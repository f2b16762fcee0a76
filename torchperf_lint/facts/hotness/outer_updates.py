"""Loops that gather experience, then learn from all of it: what stands between the two runs once a rollout.

    for update in range(updates):
        for _ in range(horizon):
            observation, reward, *_ = envs.step(act(observation))
        agent.learn(buffer)

The turns of such a loop take as long as the environment does; steps are counted in the loops inside.
"""

from __future__ import annotations

from collections.abc import Sequence

from torchperf_lint.facts.call_graph.direct_calls import DirectCalls
from torchperf_lint.facts.call_graph.index import Index
from torchperf_lint.facts.outlines.records import Region
from torchperf_lint.facts.roles.agents import ENV_STEP
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.patterns import pattern

_GATHERS = pattern(
    r"^_?(?:perform_|do_|run_)?roll_?outs?$|^_?(?:collect|gather|generate|obtain|run|play)_"
    r"(?:\w+_)?(?:roll_?outs?|trajector(?:y|ies)|episodes?|experiences?|transitions|samples)$"
)


def gathers_first(index: Index, calls: DirectCalls, path: str, region: int) -> bool:
    """Whether the loop that a region is plays an environment in a loop inside, or calls what does by its name."""
    regions = index.outlines[path].regions
    gathering = (call for call in calls.directly_in(path, region) if _GATHERS.search(last_part(call.callee)))
    if any(not _is_rare(regions, call.region, region) for call in gathering):
        return True
    for call in index.outlines[path].calls:
        if call.function != regions[region].function or not ENV_STEP.search(call.callee):
            continue
        inside, inner = call.region, False
        while inside >= 0 and inside != region:
            inner = inner or regions[inside].kind == "loop"
            inside = regions[inside].parent
        if inside == region and inner:
            return True
    return False


def _is_rare(regions: Sequence[Region], inside: int, loop: int) -> bool:
    """Whether a region within a loop runs in few of its turns: `if step % n == 0: generate_samples(model)`."""
    while inside not in (loop, -1):
        if regions[inside].kind == "cadence":
            return True
        inside = regions[inside].parent
    return False
