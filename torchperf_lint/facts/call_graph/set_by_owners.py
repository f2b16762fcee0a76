"""Attributes that an object's owner sets, and that its own class leaves open.

    class Worker:                               class Run:
        def __init__(self):                         def __init__(self):
            self.scene = None                           self.scene = Scene()
                                                        self.worker = Worker()
                                                        self.worker.scene = self.scene
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.outlines.records import Binding

if TYPE_CHECKING:
    from torchperf_lint.facts.call_graph.types import Types

_FEW = 4
"""Places that set an attribute of one name; where there are more, the name says little about one class."""


class SetByOwners:
    """Finds what the code outside a class makes an attribute of its objects."""

    def __init__(self, types: Types) -> None:
        self.types = types

    def of(self, thing: Thing, name: str) -> tuple[Thing, ...]:
        """The objects that other code makes an attribute of such an object; none where its own class sets it."""
        places = self._table.get(name, ())
        if not places or self._is_set_by_its_class(thing, name):
            return ()
        found: dict[Thing, None] = {}
        for path, binding in places if len(places) <= _FEW else ():
            owner = self.types.thing(path, binding.function, binding.target.rpartition(".")[0])
            if owner is not None and owner[:3] == ("instance", thing.path, thing.index):
                found.update(dict.fromkeys(self.types.bound_to(path, binding.function, binding.value)))
        return tuple(t for t in found if t.kind == "instance")

    def _is_set_by_its_class(self, thing: Thing, name: str) -> bool:
        own = (cls for cls in self.types.index.ancestry(thing) if cls.kind == "class")
        return any(self.types.self_bindings(cls, name) for cls in own)

    @cached_property
    def _table(self) -> dict[str, list[tuple[str, Binding]]]:
        """Name of an attribute -> (path, binding) of `self.worker.name = value` and `worker.name = value`."""
        table: dict[str, list[tuple[str, Binding]]] = {}
        for path, outline in self.types.index.outlines.items():
            for binding in outline.bindings:
                owner, _, name = binding.target.rpartition(".")
                if owner and owner != "self" and name.isidentifier():
                    table.setdefault(name, []).append((path, binding))
        return table
