"""Which ways through a function are taken, by the calls that a reason names, and by all calls of hot code.

    def decode(self, y, mode):                     def forward(self, x):
        if mode == "stream":                           return self.decode(x, mode="forward")
            return self.codec.unpack(y)

`forward` makes `decode` hot, and not what stands under `mode == "stream"`: whoever asks for that comes another way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey, Index
from torchperf_lint.facts.hotness.hot import Hot, called_at
from torchperf_lint.facts.hotness.options_asked_for import Callers, Counts, Given, options_around, passes, ways_around

_Bodies = Callable[[str], Body | None]
_Way: TypeAlias = tuple[FunctionKey, str, int]
"""The function, what a parameter must be, and the line of what that leads to."""


class _Named:
    """The callers that reasons name, as a table: one or none of each function."""

    def __init__(self, callers: Callers, reasons: Mapping[FunctionKey, Hot], key: FunctionKey, hot: Hot) -> None:
        self.callers = callers
        self.reasons = reasons
        self.key = key
        self.hot = hot

    def get(self, key: FunctionKey, default: Sequence[CallSite], /) -> Sequence[CallSite]:
        hot = self.hot if key == self.key else self.reasons.get(key)
        at = called_at(hot) if hot is not None and hot.depth else None
        return [site for site in self.callers.get(key, ()) if (site.path, site.call.line) == at] or default


class PathsTaken:
    """Answers for one project."""

    def __init__(self, index: Index, body: _Bodies, callers: Callers) -> None:
        self.index = index
        self.body = body
        self.callers = callers
        self._ways: dict[tuple[str, int], list[_Way]] = {}
        self._by_no_call: dict[tuple[str, int], bool] = {}

    def never(self, hot: Hot, path: str, region: int, counts: Counts | None = None, looped: bool = False) -> bool:
        """Whether what is hot by its callers is for arguments that none of them gives: `if mode == "fast":`.

        `counts`: which of the calls count, where not all of them do.
        `looped`: whether it is hot by a loop of its own function, to which nobody gives them either.
        """
        ways = self._ways_to(path, region)
        if not ways:
            return False
        if not (hot.depth or looped):
            given = Given(self.index, self.body, self.callers)
            return any(given.turned_away(*way) for way in ways)
        if counts is not None:
            return self._is_taken_by_none(ways, self.callers, counts)
        if (path, region) not in self._by_no_call:
            self._by_no_call[path, region] = self._is_taken_by_none(ways, self.callers)
        return self._by_no_call[path, region]

    def not_by(self, hot: Hot, path: str, region: int, reasons: Mapping[FunctionKey, Hot]) -> bool:
        """Whether the callers that a reason names never get to a region of the function that it is a reason for."""
        ways = self._ways_to(path, region) if hot.depth else []
        return bool(ways) and self._is_taken_by_none(ways, _Named(self.callers, reasons, ways[0][0], hot))

    def _is_taken_by_none(self, ways: Sequence[_Way], callers: Callers, counts: Counts | None = None) -> bool:
        """Whether one of several ways, all of which must be taken, is taken by no call that counts."""
        given = Given(self.index, self.body, callers, counts or (lambda site: True))
        return any(given.never_takes(*way) for way in ways)

    def _ways_to(self, path: str, region: int) -> list[_Way]:
        """The ways around a region inside its function."""
        if (path, region) not in self._ways:
            key = FunctionKey(path, self.index.outlines[path].regions[region].function)
            self._ways[path, region] = [(key, *way) for way in sorted(ways_around(self.index, path, region))]
        return self._ways[path, region]

    def asked_for(self, path: str, region: int, counts: Counts) -> bool:
        """Whether hot code passes all the options that a branch in a function asks for."""
        key = FunctionKey(path, self.index.outlines[path].regions[region].function)
        names = options_around(self.index, path, region)
        hot = [site for site in self.callers.get(key, ()) if names and counts(site)]
        known = (self.index, self.body, key)
        return any(all(passes(*known, site, name, self.callers) for name in names) for site in hot)
