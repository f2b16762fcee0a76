"""Which calls may run something of the project, by what their chains end in: less than half of all do.

`x.float()` does not, where nothing of the project is called so that an object or a module may have; a parameter by that
name is called by itself, `float()`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property

from torchperf_lint.facts.outlines.records import Outline
from torchperf_lint.facts.syntax.chains import last_part


class OwnNames:
    """Answers for one project."""

    def __init__(self, outlines: Mapping[str, Outline], callees: Collection[str], loading: Collection[str]) -> None:
        """Take the outlines, the chains of all calls, and the methods of libraries that make what a class says."""
        self._outlines = outlines.values()
        self._callees = callees
        self._loading = loading

    @cached_property
    def callees(self) -> frozenset[str]:
        """The chains of those calls of the project that may run something of it."""
        return frozenset(filter(self.may_end, self._callees))

    def may_end(self, callee: str) -> bool:
        """Whether a call of such a chain may run something of the project."""
        name = last_part(callee)
        if callee.endswith((")", "]")):
            return name in self._by_themselves or name in self._of_others
        return name in (self._of_others if "." in callee else self._by_themselves)

    @cached_property
    def _by_themselves(self) -> frozenset[str]:
        """The names that may stand for something to call: what is defined, imported, bound or a parameter."""
        functions = (function for outline in self._outlines for function in outline.functions)
        taken = {parameter.name for function in functions for parameter in function.parameters}
        return frozenset(self._defined_or_imported | taken | {name for name in self._bound if "." not in name})

    @cached_property
    def _of_others(self) -> frozenset[str]:
        """The names of what may be called of an object or a module: what is defined, imported, or bound there."""
        of_modules = {b.target for outline in self._outlines for b in outline.bindings if not b.function}
        of_objects = {target.rpartition(".")[2] for target in self._bound if "." in target}
        return frozenset(self._defined_or_imported | of_modules | of_objects | {*self._loading})

    @cached_property
    def _bound(self) -> frozenset[str]:
        return frozenset({binding.target for outline in self._outlines for binding in outline.bindings})

    @cached_property
    def _defined_or_imported(self) -> frozenset[str]:
        found: set[str] = set()
        for outline in self._outlines:
            found.update(outline.imports)
            found.update(cls.name for cls in outline.classes)
            found.update(function.name for function in outline.functions)
        return frozenset(found)
