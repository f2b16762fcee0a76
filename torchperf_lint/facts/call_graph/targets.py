"""Which functions of the project a call may run, by what its chain denotes: overrides in subclasses included."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import FunctionKey, Thing
from torchperf_lint.patterns import pattern

if TYPE_CHECKING:
    from torchperf_lint.facts.call_graph.types import Types

FEW_OVERRIDES = 4
"""A call through a base class with more overrides than this says nothing about any one of them."""
_METRIC = pattern(r"^torchmetrics\.(?:\w+\.)*Metric$")


class Targets:
    """Answers for one project; they are kept."""

    def __init__(self, types: Types) -> None:
        self.types = types
        self.index = types.index
        self._targets: dict[tuple[str, int, str], list[FunctionKey]] = {}

    def of(self, path: str, function: int, callee: str) -> list[FunctionKey]:
        """The project functions that a call may run, overrides in subclasses included."""
        key = (path, function, callee)
        found = self._targets.get(key)
        if found is None:
            found = self._targets[key] = self._find_targets(path, function, callee)
        return found

    def _find_targets(self, path: str, function: int, callee: str) -> list[FunctionKey]:
        if callee not in self.index.own_names.callees and not self._may_run(callee):
            return []
        found: list[FunctionKey] = []
        for thing in self.types.things(path, function, callee):
            key = self._runs(thing)
            if key is not None:
                found.extend(self._overrides(key, callee))
        if callee.startswith("super()."):
            own = self.index.class_of(path, function)
            for base in self.index.bases(own) if own else ():
                key = self.index.method(base, callee[8:]) if base.kind == "class" else None
                found.extend([key] if key else [])
        return found if len(found) < 2 else list(dict.fromkeys(found))

    def _may_run(self, callee: str) -> bool:
        """Whether something of the project may be called by a chain that no call of the project is written by."""
        return callee.endswith((")", "]")) or self.index.own_names.may_end(callee)

    def _overrides(self, key: FunctionKey, callee: str) -> list[FunctionKey]:
        """What a call may run: of its own methods any override; of another object's, where there are few."""
        if "." not in callee:
            return [key]
        overrides = self.index.overrides(key)
        own = callee.startswith("self.") and callee.count(".") == 1
        return overrides if own or len(overrides) <= FEW_OVERRIDES else [key]

    def _runs(self, thing: Thing) -> FunctionKey | None:
        if thing.kind in ("function", "partial"):
            return FunctionKey(thing.path, thing.index)
        if thing.kind == "class":
            return self.index.method(thing, "__init__")
        if thing.kind == "instance":
            if self.types.is_module_class(thing):
                return self.index.method(thing, "forward") or self.index.method(thing, "__call__")
            return self.index.method(thing, "__call__") or self._of_metric(thing)
        return None

    def _of_metric(self, thing: Thing) -> FunctionKey | None:
        """A metric of torchmetrics that is called hands what it is given to its `update`."""
        bases = self.index.external_bases(Thing("class", thing.path, thing.index))
        return self.index.method(thing, "update") if any(map(_METRIC.match, bases)) else None
