"""Calls of `self.method()` that a subclass never makes, as it has its own version of the method that holds the call.

    class Policy:                                class Natural(Policy):
        def update(self):                            def update(self):
            for batch in self.loader():                  self.update_actor(self.everything)
                self.update_actor(batch)             def update_actor(self, batch): ...

An object of `Natural` runs its own `update`, whose loop the base's is not. Nor does a call of `self` in one subclass
run what another subclass has.
"""

from __future__ import annotations

from torchperf_lint.facts.call_graph.index import FunctionKey, Index, Thing
from torchperf_lint.facts.outlines.records import Call


def runs_for(index: Index, path: str, call: Call, target: FunctionKey) -> bool:
    """Whether an object that has the method `target` may come to a call, as far as the call is one of `self`."""
    holder = index.outlines[path].functions[call.function]
    own = index.function(target)
    if call.callee != f"self.{own.name}" or holder.class_index < 0 or own.class_index < 0:
        return True
    above = Thing("class", path, holder.class_index)
    below = Thing("class", target.path, own.class_index)
    ancestry = list(index.ancestry(below))
    if above not in ancestry:
        return _together(index, above, below)
    for cls in ancestry[: ancestry.index(above)]:
        version = index.record(cls).methods.get(holder.name) if cls.kind == "class" else None
        if version is not None and not _passes_on(index, FunctionKey(cls.path, version)):
            return False
    return True


def _together(index: Index, own: Thing, other: Thing) -> bool:
    """Whether an object may be of both classes: one is a base of the other, or both are of a third."""
    return any(other in index.ancestry(cls) for cls in (own, *index.below(own)))


def _passes_on(index: Index, key: FunctionKey) -> bool:
    """Whether a method runs the version of a base class: `super().update()`, `Policy.update(self)`."""
    name = index.function(key).name
    calls = (call.callee for call in index.calls_in(key))
    return any(callee.endswith(f".{name}") and callee != f"self.{name}" for callee in calls)
