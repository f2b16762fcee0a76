"""Which loops call a helper: where its callers stand, for who looks at the loop and not at the helper."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.hotness.hotness import Hotness

_SHOWN = 3


def calling_loops(hotness: Hotness, key: FunctionKey, hot: Hot) -> Iterator[tuple[CallSite, str]]:
    """Calls of a function in hot code, the first of each caller, with how often it is made.

    None where no loop that calls it is the reason why the function's code is hot.
    """
    if hot.loop is None or not hot.depth:
        return
    told: set[FunctionKey] = set()
    for site in hotness.callers.get(key, ()):
        caller, why = FunctionKey(site.path, site.call.function), hotness.of_region(site.path, site.call.region)
        if caller in told or why is None or why.kind != hot.kind or why.optional:
            continue
        told.add(caller)
        yield site, why.when.partition(" (")[0]
        if len(told) == _SHOWN:
            return
