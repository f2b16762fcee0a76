"""Of which class the object is that a chain of calls of `self` runs on.

    class Rollout:                          class Distil(Rollout):          class Policy(Rollout):
        def generate(self):                     def step(self):                 def finish(self):
            self.finish()                           self.generate()                 ...
                                                def finish(self): ...

`Distil.step` gets to `Rollout.generate`, but never to `Policy.finish`.
"""

from __future__ import annotations

from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey, Index, Thing
from torchperf_lint.facts.hotness.hot import Hot


def receiver(index: Index, hot: Hot | None, site: CallSite, target: FunctionKey) -> tuple[str, int] | None:
    """The class, (path, index), of the object that a call runs its target on, as far as is known.

    The object may be of a class that derives from it.

    :param hot: why the caller runs; None where a loop of its own is the reason
    """
    own = _class(index, target)
    around = _class(index, FunctionKey(site.path, site.call.function))
    if own is None or around is None or not _is_of_self(site.call.callee):
        return None if own is None else (own.path, own.index)
    base = _object(hot, around)
    known = base if own in index.ancestry(base) else own
    return (known.path, known.index)


def excludes(index: Index, hot: Hot, site: CallSite, target: FunctionKey) -> bool:
    """Whether the object that a reason tells of never runs the target of a call of `self`."""
    if hot.of is None or not site.call.callee.startswith("self."):
        return False
    own = _class(index, target)
    around = _class(index, FunctionKey(site.path, site.call.function))
    if own is None or around is None:
        return False
    name = index.function(target).name
    if site.call.callee != f"self.{name}" or index.function(target).class_index < 0:
        return False  # `self.overlap = overlap`, a function of the constructor's
    return target not in index.run_below(_object(hot, around), name)


def _object(hot: Hot | None, around: Thing) -> Thing:
    """The class of `self` in a method of the class `around`."""
    return around if hot is None or hot.of is None else Thing("class", *hot.of)


def _class(index: Index, key: FunctionKey) -> Thing | None:
    found = index.class_of(*key)
    return None if found is None else Thing("class", found.path, found.index)


def _is_of_self(callee: str) -> bool:
    return callee.startswith(("self.", "super().")) and callee.count(".") == 1
