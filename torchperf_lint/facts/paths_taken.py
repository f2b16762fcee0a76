"""Which ways through a function are taken, by the calls that a reason names, and by all calls of hot code.

    def decode(self, y, mode):                     def forward(self, x):
        if mode == "stream":                           return self.decode(x, mode="forward")
            return self.codec.unpack(y)

`forward` makes `decode` hot, and not what stands under `mode == "stream"`: whoever asks for that comes another way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from torchperf_lint.facts.bodies import Body
from torchperf_lint.facts.hot import Hot, called_at
from torchperf_lint.facts.index import CallSite, FunctionKey, Index
from torchperf_lint.facts.options_asked_for import Callers, Counts, Given, options_around, passes, ways_around

_Bodies = Callable[[str], Body | None]


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

    def never(self, hot: Hot, path: str, region: int, counts: Counts = lambda site: True, looped: bool = False) -> bool:
        """Whether what is hot by its callers is for arguments that none of them gives: `if mode == "fast":`.

        `looped`: whether it is hot by a loop of its own function, to which nobody gives them either.
        """
        given = Given(self.index, self.body, self.callers, counts)
        if not (hot.depth or looped) and any(given.turned_away(key, *way) for key, way in self._all_ways(path, region)):
            return True
        return any(given.never_takes(key, *way) for key, way in self._ways(hot, path, region, looped))

    def not_by(self, hot: Hot, path: str, region: int, reasons: Mapping[FunctionKey, Hot]) -> bool:
        """Whether the callers that a reason names never get to a region of the function that it is a reason for."""
        return any(
            Given(self.index, self.body, _Named(self.callers, reasons, key, hot)).never_takes(key, *way)
            for key, way in self._ways(hot, path, region)
        )

    def _ways(
        self, hot: Hot, path: str, region: int, looped: bool = False
    ) -> Iterator[tuple[FunctionKey, tuple[str, int]]]:
        if hot.depth or looped:
            yield from self._all_ways(path, region)

    def _all_ways(self, path: str, region: int) -> Iterator[tuple[FunctionKey, tuple[str, int]]]:
        key = FunctionKey(path, self.index.outlines[path].regions[region].function)
        yield from ((key, way) for way in sorted(ways_around(self.index, path, region)))

    def asked_for(self, path: str, region: int, counts: Counts) -> bool:
        """Whether hot code passes all the options that a branch in a function asks for."""
        key = FunctionKey(path, self.index.outlines[path].regions[region].function)
        names = options_around(self.index, path, region)
        hot = [site for site in self.callers.get(key, ()) if names and counts(site)]
        known = (self.index, self.body, key)
        return any(all(passes(*known, site, name, self.callers) for name in names) for site in hot)
