"""Calls that show or check what a function does, and say nothing of how often it runs in earnest.

Tests call what a library offers; a file of networks tries them below `if __name__ == "__main__"`. What only such code
calls is as good as not called: who uses it is elsewhere.
"""

from __future__ import annotations

from torchperf_lint.facts.index import CallSite, FunctionKey, Thing
from torchperf_lint.facts.types import Types
from torchperf_lint.patterns import pattern

_SHOWS = pattern(
    r"(?:^|/)(?:tests?|unit_?tests?|examples?|demos?|docs?|benchmarks?|notebooks?|tutorials?)/"
    r"|(?:^|/)(?:test_\w+|\w+_test|conftest|unittest|demo)\.py$"
)
"""Files of tests and examples."""


class Demonstrations:
    """Answers for one project."""

    def __init__(self, types: Types) -> None:
        self.types = types
        self._of_networks: dict[str, bool] = {}

    def shows(self, site: CallSite, target: FunctionKey) -> bool:
        """Whether a call only shows or checks what its target does; of a method its class says more than that."""
        if self.types.index.function(target).class_index >= 0:
            return False
        if _SHOWS.search(site.path) and not _SHOWS.search(target.path):
            return True
        return site.call.function == 0 and self._is_of_networks(site.path)

    def _is_of_networks(self, path: str) -> bool:
        """Whether a file defines modules, no functions that train them: what it does itself is a trial of them."""
        if path not in self._of_networks:
            classes = range(len(self.types.index.outlines[path].classes))
            modules = any(self.types.is_module_class(Thing("class", path, index)) for index in classes)
            self._of_networks[path] = modules and not self._trains(path)
        return self._of_networks[path]

    def _trains(self, path: str) -> bool:
        return any(call.callee.endswith((".backward", ".step")) for call in self.types.index.outlines[path].calls)
