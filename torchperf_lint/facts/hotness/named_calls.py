"""Calls that bear a function's name, of objects whose class nobody knows: "no call of it is seen" says too much there.

    class Quantizer:                                  for name in layers:
        def fast_quantize(self, percdamp):                quantizers[name].fast_quantize(percdamp=0.01)
            ...

Such a call does not say how often the function runs, but that it is its project which decides that. Names that many
functions have, and those of libraries, tell nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

from torchperf_lint.facts.call_graph.demonstrations import Demonstrations
from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey, Index
from torchperf_lint.facts.call_graph.namesakes import may_be_of_libraries
from torchperf_lint.facts.call_graph.types import Types
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.model import Confidence

GUESSED = "no call of it is seen"
"""What the reasons say of functions that are taken for operations because nobody calls them."""
_INSTEAD = {
    f"{GUESSED} in the project": "no call that is seen runs it in every step",
    "who uses it does so": "who else uses it may do so",
}
"""What is said of them where calls bear their name."""
_FEW = 3
"""Functions of one name; more of them are no hint which one a call runs."""


_ANYTHING = ("typing.Any", "sys.modules")
"""What tells nothing of an object."""


class NamedCalls:
    """Answers for one project."""

    def __init__(self, index: Index, types: Types, often: Callable[[CallSite], bool]) -> None:
        """Ask of these files.

        :param often: whether a call runs every step, as far as is known
        """
        self.index = index
        self.types = types
        self.often = often
        self._known: dict[FunctionKey, bool] = {}

    def weighed(self, hot: Hot) -> Hot:
        """A reason; where calls that are seen contradict it, one that is only possible, and does not deny them."""
        if not self._contradict(hot):
            return hot
        story = tuple(_reworded(part) if isinstance(part, str) else part for part in hot.story)
        return replace(hot, because=_reworded(hot.because), confidence=Confidence.POSSIBLE, story=story)

    def _contradict(self, hot: Hot) -> bool:
        """Whether a reason rests on a function that nobody seems to call, and calls bear its name, none in hot code."""
        if GUESSED not in hot.because:
            return False
        functions = enumerate(self.index.outlines[hot.path].functions)
        own = (n for n, function in functions if n and function.header_line == hot.line)
        return any(self._is_called_seldom(FunctionKey(hot.path, number)) for number in own)

    def _is_called_seldom(self, key: FunctionKey) -> bool:
        if key not in self._known:
            sites = self._calls_of(key)
            self._known[key] = bool(sites) and not any(self.often(site) or self._is_handed_on(site) for site in sites)
        return self._known[key]

    def _is_handed_on(self, site: CallSite) -> bool:
        """Whether a call stands in a function inside another, which gives it to who knows whom: a new `forward`."""
        return self.index.function(FunctionKey(site.path, site.call.function)).parent > 0

    def _calls_of(self, key: FunctionKey) -> list[CallSite]:
        function = self.index.function(key)
        if self._definitions.get(function.name, 0) > _FEW or may_be_of_libraries(function.name):
            return []
        return [site for site in self.index.calls_named.get(function.name, ()) if self._may_run(site, key)]

    def _may_run(self, site: CallSite, key: FunctionKey) -> bool:
        """Whether nothing speaks against a call being one of a function: what it calls is not known otherwise."""
        if Demonstrations.only_shows(site.path) or FunctionKey(site.path, site.call.function) == key:
            return False
        receiver, dot, _ = site.call.callee.rpartition(".")
        method = self.index.function(key).class_index >= 0
        if method and (not dot or receiver in ("self", "super()")):
            return False
        if not dot and site.path != key.path and not self._imports(site):
            return False
        if self.types.targets(site.path, site.call.function, site.call.callee):
            return False
        known = self.types.things(site.path, site.call.function, receiver)
        return not dot or all(thing.dotted.startswith(_ANYTHING) for thing in known)

    def _imports(self, site: CallSite) -> bool:
        """Whether a file has a name from elsewhere, one by one or with all others: `from layers import *`."""
        outline = self.index.outlines[site.path]
        return site.call.callee in outline.imports or bool(outline.stars)

    @cached_property
    def _definitions(self) -> dict[str, int]:
        """Name -> how many functions and methods have it."""
        found: dict[str, int] = {}
        for outline in self.index.outlines.values():
            for function in outline.functions[1:]:
                found[function.name] = found.get(function.name, 0) + 1
        return found


def _reworded(text: str) -> str:
    """What a reason says, without the words that no call is seen."""
    for said, instead in _INSTEAD.items():
        text = text.replace(said, instead)
    return text
