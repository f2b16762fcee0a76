"""Loaders around loaders, which compute on the device what they hand on.

    class Prefetcher:
        def __iter__(self):
            for batch in self.loader:
                yield self.augment(batch.to(self.device))

Nothing says of such a loop that it trains, and yet it turns for every batch of a training.
"""

from __future__ import annotations

from torchperf_lint.facts.call_graph.index import Index
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.hotness.loop import EVERY_BATCH


def hands_batches_on(index: Index, hot: Hot) -> bool:
    """Whether a line runs in the `__iter__` of a class that goes through the batches of a loader."""
    if hot.loop is None or not hot.when.startswith(EVERY_BATCH):
        return False
    path, region = hot.loop
    outline = index.outlines[path]
    return outline.functions[outline.regions[region].function].name == "__iter__"
