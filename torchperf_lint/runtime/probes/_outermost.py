"""Where the calls of modules are watched: at `nn.Module` until it is known whose the outermost are, then at these.

At `nn.Module` every call of a module within another costs 0.4 us more; at the classes of the outermost ones those of
other classes cost nothing. Now and then all calls are looked at again, for outermost ones of another class. Where a
class is left alone (it has a `__call__` of its own, something is compiled, a pickler that takes classes by value is
about) all calls stay watched.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from torchperf_lint.runtime.probes import _dynamo

_CALLS = "__call__"
FEW, MANY = 20, 2000
"""Outermost calls of known classes in a row after which only theirs are watched, and then until all are once more."""
_MOST_CLASSES = 4
BY_VALUE = ("cloudpickle", "dill", "joblib.externals.cloudpickle", "ray.cloudpickle", "pyspark.cloudpickle")
"""They pickle a class of the script with what they find on it, and our function cannot be."""


class Outermost:
    """One per process."""

    def __init__(self, module_class: Any, everywhere: Any, there: Any) -> None:  # noqa: ANN401
        """`everywhere`: the patch of `nn.Module`; `there`: what takes its place at a class, and calls `nn.Module`'s."""
        self._module_class = module_class
        self._everywhere = everywhere
        self._there = there
        self._classes: dict[type, None] = {}
        self._since = 0
        """Outermost calls since the last class that was new, or since all or few have been watched."""
        self._told = 0
        self.wide = True
        """Whether all calls are watched."""
        self.stays = False
        """Whether they stay so."""

    def seen(self, kind: type) -> None:
        """A module of this class has been called from outside of all."""
        self._since += 1
        if not self.wide:
            if self._since >= MANY:
                self.widen()
        elif kind not in self._classes:
            self._classes[kind] = None
            self._since = 0
        elif self._since >= FEW and not self.stays:
            self._narrow()

    def look(self) -> None:
        """About once a second: where no known class is called any more, another may be."""
        if not self.wide and self._since == self._told:
            self.widen()
        self._told = self._since

    def widen(self) -> None:
        """Watch all calls."""
        self._since, self.wide = 0, True
        self._everywhere.put()
        if _dynamo.has_compiled():
            self.stays = True  # and ours stays at the classes: it may be in guards, and does nothing within other calls
        else:
            self._leave()

    def widen_for_good(self) -> None:
        """Leave the script's classes as they were."""
        self.stays = True
        if not self.wide:
            self.widen()

    def give_back(self) -> None:
        """Watch nothing."""
        self._leave()
        self._everywhere.take()
        self.wide = True

    def _narrow(self) -> None:
        if not self._may_narrow():
            self.stays = True
            return
        for kind in self._classes:
            setattr(kind, _CALLS, self._there)
        self._everywhere.take()
        self._since, self._told, self.wide = 0, -1, False

    def _may_narrow(self) -> bool:
        return (
            len(self._classes) <= _MOST_CLASSES
            and self._everywhere.is_there()
            and all(map(self._is_plain, self._classes))
            and not _dynamo.has_compiled()
            and not any(name in sys.modules for name in BY_VALUE)
        )

    def _is_plain(self, kind: type) -> bool:
        """Whether its calls are those of `nn.Module`."""
        caller = next((base for base in kind.__mro__ if _CALLS in vars(base)), None)
        return type(kind) is type and kind is not self._module_class and caller is self._module_class

    def _leave(self) -> None:
        for kind in self._classes:
            if vars(kind).get(_CALLS) is self._there:
                delattr(kind, _CALLS)


def widening(session: Any, outermost: Outermost) -> Callable[[Any], None]:  # noqa: ANN401
    """For when a pickler by value is imported."""

    def widen(module: Any) -> None:  # noqa: ANN401
        del module
        with session.recorder.lock:
            outermost.widen_for_good()

    return widen
