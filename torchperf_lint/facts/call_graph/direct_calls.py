"""The calls of a project by the loop, or the function outside loops, directly around them."""

from __future__ import annotations

from collections.abc import Iterable

from torchperf_lint.facts.call_graph.index import Index
from torchperf_lint.facts.outlines.records import Call


class DirectCalls:
    """Answers for one project; they are kept."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self._direct: dict[str, dict[int, list[Call]]] = {}

    def directly_in(self, path: str, index: int) -> list[Call]:
        """The calls whose innermost loop is the region `index` (a function's region: calls outside loops)."""
        if path not in self._direct:
            self._direct[path] = self.by_loop(path, self.index.outlines[path].calls)
        return self._direct[path].get(index, [])

    def all_in(self, path: str, index: int) -> list[Call]:
        """The calls in a loop's region, those in loops within it too, in no order."""
        regions = self.index.outlines[path].regions
        within, found = {index}, [*self.directly_in(path, index)]
        for number in range(index + 1, len(regions)):
            if regions[number].parent not in within or regions[number].kind in ("function", "class"):
                continue
            within.add(number)
            if regions[number].kind == "loop":
                found += self.directly_in(path, number)
        return found

    def by_loop(self, path: str, calls: Iterable[Call]) -> dict[int, list[Call]]:
        """Region of a loop, or of a function -> those of a file's calls that are directly in it."""
        outline = self.index.outlines[path]
        home: list[int] = []
        for index, region in enumerate(outline.regions):
            own = region.kind in ("loop", "function", "class") or region.parent < 0
            home.append(index if own else home[region.parent])
        table: dict[int, list[Call]] = {}
        for call in calls:
            table.setdefault(home[call.region], []).append(call)
        return table
