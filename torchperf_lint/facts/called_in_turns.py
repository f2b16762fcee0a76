"""Functions that a loop inside a step calls: what they wait for once, the step waits for in each turn."""

from __future__ import annotations

from torchperf_lint.facts.hot import Hot, called_at
from torchperf_lint.facts.hotness import Hotness
from torchperf_lint.facts.index import CallSite, FunctionKey
from torchperf_lint.facts.loop import FEW_TURNS
from torchperf_lint.facts.source import Place


def called_in_turns(place: Place) -> bool:
    """Whether the call that makes a place hot stands in a loop or comprehension: not the step loop itself."""
    hot, hotness = place.hot, place.file.project.hotness
    at = called_at(hot) if hot is not None else None
    if hot is None or at is None:
        return False
    callers = hotness.callers.get(FunctionKey(place.file.path, place.function), ())
    return any((site.path, site.call.line) == at and _turns(hotness, site, hot) for site in callers)


def _turns(hotness: Hotness, site: CallSite, hot: Hot) -> bool:
    """Whether a loop inside the step, of more than a handful of turns, repeats a call, and no guard holds it back."""
    regions, index = hotness.index.outlines[site.path].regions, site.call.region
    if not hotness.around.turns(site.path, index):
        return False
    while index >= 0 and regions[index].kind != "function" and (site.path, index) != hot.loop:
        turns = regions[index].turns
        if regions[index].kind in ("loop", "comprehension") and (turns is None or turns > FEW_TURNS):
            return True
        index = regions[index].parent
    return False
