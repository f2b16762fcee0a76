"""Loops inside a step, `for layer in range(7)`: they turn alike at every step, where the loop of the steps is known.

Which loop that is hotness tells; of a function without one, whose loops may each be it, nothing is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchperf_lint.facts.bindings.bindings import BlockPath
from torchperf_lint.facts.outlines.records import Position

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values


def without_loops_inside(values: Values, path: str, place: Position, around: BlockPath) -> BlockPath:
    """The blocks around a place without the loops that stand inside the one that makes steps."""
    hot = values.hotness.at(path, place)
    if hot is None or hot.loop is None or hot.loop[0] != path:
        return around
    step = (values.index.outlines[path].regions[hot.loop[1]].head, "loop")
    if step not in around:
        return around
    inside = around.index(step) + 1
    return (*around[:inside], *(block for block in around[inside:] if block[1] != "loop"))
