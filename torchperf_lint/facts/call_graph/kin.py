"""Classes that an object may be of together: what derives from what, however far, in either direction."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property

from torchperf_lint.facts.call_graph.index import Index, Thing


class Kin:
    """Answers for one project: a number for all classes that bases connect."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def of(self, path: str, number: int) -> int:
        """The number of the kin of a file's class."""
        return self._numbers[path, number]

    def members(self, kin: int) -> list[tuple[str, int]]:
        """(path, index) of the classes of a kin."""
        return self._members[kin]

    @cached_property
    def _numbers(self) -> dict[tuple[str, int], int]:
        links: dict[tuple[str, int], list[tuple[str, int]]] = {}
        for path, outline in self._index.outlines.items():
            links |= {(path, number): [] for number in range(len(outline.classes))}
        for own in list(links):
            for base in self._index.bases(Thing("class", *own)):
                other = (base.path, base.index)
                if base.kind == "class" and other in links:
                    links[own].append(other)
                    links[other].append(own)
        found: dict[tuple[str, int], int] = {}
        for kin, start in enumerate(links):
            queue = [] if start in found else [start]
            while queue:
                current = queue.pop()
                if current not in found:
                    found[current] = kin
                    queue += links[current]
        return found

    @cached_property
    def _members(self) -> dict[int, list[tuple[str, int]]]:
        table: dict[int, list[tuple[str, int]]] = defaultdict(list)
        for own, kin in self._numbers.items():
            table[kin].append(own)
        return table
