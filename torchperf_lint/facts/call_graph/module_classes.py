"""Which classes of a project are modules: by what they derive from, or by what they are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.call_graph.module_names import LOADED, MODULE_BY_NAME, is_module_name

if TYPE_CHECKING:
    from torchperf_lint.facts.call_graph.types import Types


class ModuleClasses:
    """Answers for one project; what a class is made of is asked once."""

    def __init__(self, types: Types) -> None:
        self.types = types
        self.index = types.index
        self._by_name: dict[tuple[str, str, int], bool] = {}
        self._built: dict[tuple[str, int], bool] = {}

    def holds(self, thing: Thing) -> bool:
        """Whether a class or instance of the project is an `nn.Module`."""
        key = (thing.kind, thing.path, thing.index)
        by_name = self._by_name.get(key)
        if by_name is None:
            by_name = self._by_name[key] = self._is_one_by_name(thing)
        return by_name or self._is_built_as_one(thing)

    def _is_one_by_name(self, thing: Thing) -> bool:
        bases = self.index.external_bases(thing)
        by_name = any(is_module_name(name) for name in bases) or self._is_module_by_name(thing, bases)
        return by_name or self._is_written_as_one(thing)

    def is_loaded_by(self, thing: Thing, part: str) -> bool:
        """Whether a class of the project is a model that `from_pretrained` makes as a call of the class does."""
        if thing.kind != "class" or self.index.method(thing, part[1:]) is not None:
            return False
        return any(LOADED.match(name) for name in self.index.external_bases(thing)) and self.holds(thing)

    def _is_module_by_name(self, thing: Thing, bases: tuple[str, ...]) -> bool:
        """A class with a `forward`, derived from what is called a module elsewhere: `FairseqCriterion`, `BaseHead`."""
        return any(map(MODULE_BY_NAME.search, bases)) and self.index.method(thing, "forward") is not None

    def _is_written_as_one(self, thing: Thing) -> bool:
        """A class with a `forward`, derived from a `Module` that a star import of another library brings."""
        if thing.kind not in ("class", "instance") or not self.index.outlines[thing.path].stars:
            return False
        written = [base for base in self.index.record(thing).bases if base in ("Module", "nn.Module")]
        unread = bool(written) and not self.index.bases(thing)
        return unread and "forward" in self.index.record(thing).methods

    def _is_built_as_one(self, thing: Thing) -> bool:
        """Whether a class whose base nobody here can read has a `forward`, and parts that are modules."""
        key = (thing.path, thing.index)
        if thing.kind not in ("class", "instance"):
            return False
        if key not in self._built:
            self._built[key] = False  # its parts may be of its own class
            self._built[key] = self._has_modules(thing)
        return self._built[key]

    def _has_modules(self, thing: Thing) -> bool:
        record, own = self.index.record(thing), self.index.outlines[thing.path]
        unread = len(record.bases) > len(self.index.bases(thing)) and any(base not in own.tops for base in record.bases)
        start = record.methods.get("__init__")
        if not unread or start is None or "forward" not in record.methods:
            return False
        made = (b.value for b in own.bindings if b.function == start and b.target.startswith("self."))
        things = (t for value in made if value.endswith("()") for t in self.types.things(thing.path, start, value[:-2]))
        return any(t.kind == "external" and is_module_name(t.dotted) for t in things)
