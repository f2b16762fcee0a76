"""The project index: all outlines, what names mean across files, who calls whom."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from torchperf_lint.facts.call_graph.device_mentions import mentions_device
from torchperf_lint.facts.call_graph.module_files import ModuleFiles
from torchperf_lint.facts.call_graph.mro import resolution_order
from torchperf_lint.facts.call_graph.own_names import OwnNames
from torchperf_lint.facts.outlines.records import Call, Class, Function, Outline
from torchperf_lint.facts.syntax.canonical import canonical
from torchperf_lint.facts.syntax.chains import last_part

MAX_OVERRIDES = 256
"""Subclasses of one base whose methods a call through it may run: libraries of layers and losses have dozens."""
MAX_HOPS = 8
"""How many re-exports, bindings or bases are followed before a name counts as unknown."""


class Thing(NamedTuple):
    """What a chain denotes.

    kind: module, class, instance, function (all of the project: `path` and `index`), or external, where
    `dotted` is the canonical chain, such as `torch.optim.Adam().step`.
    """

    kind: str
    path: str = ""
    index: int = -1  # type: ignore[assignment]  # hides tuple.index, which nobody calls
    dotted: str = ""


class FunctionKey(NamedTuple):
    """A function of the project: the file's path and the index in its outline."""

    path: str
    index: int  # type: ignore[assignment]  # as above


class CallSite(NamedTuple):
    """A call, with the file it stands in."""

    path: str
    call: Call


Callers = Mapping[FunctionKey, tuple[CallSite, ...]]
"""Function -> where the project calls it, in sorted order."""


class Index:
    """All that the files of one project say about each other. Immutable once made."""

    def __init__(self, outlines: Mapping[str, Outline], complete: bool = True, root: str = "") -> None:
        self.outlines = dict(sorted(outlines.items()))
        self.complete = complete
        """Whether every file of the project could be read; unused suppressions are only then reported."""
        self._files = ModuleFiles(self.outlines, root)
        self._found: dict[tuple[str, str], Thing | None] = {}
        self._ancestry: dict[Thing, tuple[Thing, ...]] = {}
        self._class_names: dict[tuple[str, int], tuple[str, ...]] = {}
        self._methods: dict[tuple[str, int], dict[str, FunctionKey]] = {}
        self._overrides: dict[FunctionKey, list[FunctionKey]] = {}
        self._set_from_outside: dict[str, frozenset[str]] = {}
        self._calls: dict[str, dict[int, list[Call]]] = {}
        self._run_below: dict[tuple[str, int, str], frozenset[FunctionKey]] = {}

    # -- modules and their members -----------------------------------------------------------------

    def module(self, dotted: str, importer: str) -> str | None:
        """The path of the file that `import dotted` reads in the file `importer`, or None if external."""
        return self._files.module(dotted, importer)

    def imported(self, dotted: str, importer: str) -> Thing | None:
        """What an imported dotted name denotes; external names come back as external things."""
        key = (importer, dotted)
        if key not in self._found:
            self._found[key] = None  # a cycle of re-exports ends here
            self._found[key] = self._imported(dotted, importer)
        return self._found[key]

    def _imported(self, dotted: str, importer: str) -> Thing | None:
        path = self.module(dotted, importer)
        if path is not None:
            return self._in_place_of(dotted, importer) or Thing("module", path)
        head, _, name = dotted.rpartition(".")
        if dotted.startswith(".") and not head.strip("."):
            head = dotted[: len(dotted) - len(name)]
        if head:
            owner = self.module(head, importer)
            if owner is not None:
                return self.member(owner, name) or self._on_the_path_itself(owner, name)
        return None if dotted.startswith(".") else Thing("external", dotted=canonical(dotted))

    def _on_the_path_itself(self, owner: str, name: str) -> Thing | None:
        """What `from utils import f` reads of `utils/utils.py`, where `utils/__init__.py` has nothing at all.

        The import would fail, were it not for a path of modules that the folder itself is on: `PYTHONPATH=src/utils`.
        """
        outline = self.outlines[owner]
        if outline.tops or outline.imports or outline.stars:
            return None
        inner = self._files.part(owner, owner.rpartition("/")[0].rpartition("/")[2])
        top = self.outlines[inner].tops.get(name) if inner is not None else None
        return Thing(top[0], inner, top[1]) if inner is not None and top is not None else None

    def _in_place_of(self, dotted: str, importer: str) -> Thing | None:
        """What a package has by the name of a module of its own: `from .Net import Net` in `nets/__init__.py`.

        An import takes what the package has; `import nets.Net as net` does, too.
        """
        head, _, name = dotted.rpartition(".")
        owner = self.module(head, importer) if head.strip(".") else None
        if owner is None or owner == importer or name not in self.outlines[owner].imports:
            return None
        found = self.member(owner, name)
        return found if found is not None and found.kind in ("class", "function") else None

    def member(self, path: str, name: str) -> Thing | None:
        """What `name` denotes at the top of the module at `path`, re-exports followed."""
        outline = self.outlines[path]
        top = outline.tops.get(name)
        if top is not None:
            return Thing(top[0], path, top[1])
        if name in outline.imports:
            return self.imported(outline.imports[name], path)
        submodule = self._files.part(path, name)
        if submodule is not None:
            return Thing("module", submodule)
        for star in outline.stars:
            owner = self.module(star, path)
            if owner is not None and owner != path:
                found = self.imported(f"{star}.{name}" if not star.endswith(".") else star + name, path)
                if found is not None:
                    return found
        return None

    # -- functions and classes ---------------------------------------------------------------------

    def function(self, key: FunctionKey) -> Function:
        """The outline of a function."""
        return self.outlines[key.path].functions[key.index]

    def calls_in(self, key: FunctionKey) -> Sequence[Call]:
        """The calls of a function's own code, as its outline has them."""
        if key.path not in self._calls:
            table: dict[int, list[Call]] = {}
            for call in self.outlines[key.path].calls:
                table.setdefault(call.function, []).append(call)
            self._calls[key.path] = table
        return self._calls[key.path].get(key.index, ())

    def class_of(self, path: str, function: int) -> Thing | None:
        """The class whose method `function` is, or encloses it, as an instance thing."""
        outline = self.outlines[path]
        while function > 0:
            if outline.functions[function].class_index >= 0:
                return Thing("instance", path, outline.functions[function].class_index)
            function = outline.functions[function].parent
        return None

    def bases(self, cls: Thing) -> tuple[Thing, ...]:
        """The direct bases of a project class, as class or external things; unknown ones left out."""
        return self._bases.get((cls.path, cls.index), ())

    @cached_property
    def _bases(self) -> dict[tuple[str, int], tuple[Thing, ...]]:
        return {
            (path, index): tuple(
                base for base in (self._base(path, chain, record.line) for chain in record.bases) if base is not None
            )
            for path, outline in self.outlines.items()
            for index, record in enumerate(outline.classes)
        }

    def _base(self, path: str, chain: str, line: int) -> Thing | None:
        head, *rest = re.sub(r"\[\w*\]", "", chain).split(".")
        thing = self._defined_again(path, head, line) or self.member(path, head)
        if thing is None and head in ("object", "dict", "list", "Exception"):
            return Thing("external", dotted=head)
        for name in rest:
            if thing is None:
                return None
            if thing.kind == "module":
                thing = self.member(thing.path, name)
            elif thing.kind == "external":
                thing = Thing("external", dotted=canonical(f"{thing.dotted}.{name}"))
            else:
                return None
        return thing if thing is not None and thing.kind in ("class", "external") else None

    def _defined_again(self, path: str, name: str, line: int) -> Thing | None:
        """Of the classes that share a name, one in each branch of a test, the last one above a line."""
        if self.outlines[path].tops.get(name, ("", 0))[0] != "class":
            return None
        classes = self.outlines[path].classes
        same = [n for n, one in enumerate(classes) if one.qualname == name and one.function == 0]
        above = [n for n in same if classes[n].line < line]
        return Thing("class", path, max(above, key=lambda n: classes[n].line)) if len(same) > 1 and above else None

    def ancestry(self, cls: Thing) -> tuple[Thing, ...]:
        """The class itself and all its bases, each once, in the order in which Python looks them through."""
        start = cls if cls.kind == "class" else Thing("class", cls.path, cls.index)
        known = self._ancestry.get(start)
        if known is not None:
            return known
        for each in reversed(self._only_bases(start)):
            self._ancestry[each] = self._order(each)
        return self._ancestry[start]

    def _only_bases(self, cls: Thing) -> list[Thing]:
        """A class, its only base, that one's only base: a long chain is read from its top, each link once."""
        found = {cls: None}
        while len(bases := self.bases(cls)) == 1:
            (cls,) = bases
            if cls.kind != "class" or cls in found or cls in self._ancestry:
                break
            found[cls] = None
        return list(found)

    def _order(self, cls: Thing) -> tuple[Thing, ...]:
        bases = self.bases(cls)
        above = self._ancestry.get(bases[0], ()) if len(bases) == 1 else ()
        if above and cls not in above:
            return (cls, *above)
        return resolution_order(cls, lambda c: self.bases(c) if c.kind == "class" else ())

    def record(self, cls: Thing) -> Class:
        """The outline of a project class."""
        return self.outlines[cls.path].classes[cls.index]

    def class_names(self, cls: Thing) -> tuple[str, ...]:
        """The names of a class and of all its bases."""
        key = (cls.path, cls.index)
        if key not in self._class_names:
            every = self.ancestry(cls)
            names = [self.record(c).name if c.kind == "class" else c.dotted.rpartition(".")[2] for c in every]
            self._class_names[key] = tuple(names)
        return self._class_names[key]

    def external_bases(self, cls: Thing) -> tuple[str, ...]:
        """The dotted names of every external class among a class's ancestors."""
        key = (cls.path, cls.index)
        if key not in self._external_bases:
            self._external_bases[key] = tuple(c.dotted for c in self.ancestry(cls) if c.kind == "external")
        return self._external_bases[key]

    @cached_property
    def _external_bases(self) -> dict[tuple[str, int], tuple[str, ...]]:
        return {}

    def method(self, cls: Thing, name: str) -> FunctionKey | None:
        """The method that `instance.name` finds, base classes included."""
        table = self._methods.get((cls.path, cls.index))
        if table is None:
            table = self._methods[cls.path, cls.index] = self._methods_of(cls)
        return table.get(name)

    def _methods_of(self, cls: Thing) -> dict[str, FunctionKey]:
        """Name -> the method of that name of a class, those of its bases included."""
        found: dict[str, FunctionKey] = {}
        for current in reversed(self.ancestry(cls)):
            if current.kind == "class":
                methods = self.record(current).methods
                found.update({name: FunctionKey(current.path, number) for name, number in methods.items()})
        return found

    @cached_property
    def subclasses(self) -> dict[tuple[str, int], tuple[Thing, ...]]:
        """Project class -> its direct project subclasses."""
        below: dict[tuple[str, int], list[Thing]] = {}
        for (path, index), bases in self._bases.items():
            for base in bases:
                if base.kind == "class":
                    below.setdefault((base.path, base.index), []).append(Thing("class", path, index))
        return {key: tuple(found) for key, found in below.items()}

    def below(self, cls: Thing) -> Iterator[Thing]:
        """The project's classes that derive from one, however far, each once."""
        queue, seen = [cls], {(cls.path, cls.index)}
        while queue:
            current = queue.pop()
            for found in self.subclasses.get((current.path, current.index), ()):
                if (found.path, found.index) not in seen:
                    seen.add((found.path, found.index))
                    queue.append(found)
                    yield found

    def run_below(self, cls: Thing, name: str) -> frozenset[FunctionKey]:
        """The methods that `object.name` may find on objects of a class and of those that derive from it."""
        key = (cls.path, cls.index, name)
        if key not in self._run_below:
            found = (self.method(each, name) for each in (cls, *self.below(cls)))
            self._run_below[key] = frozenset(method for method in found if method is not None)
        return self._run_below[key]

    def overrides(self, key: FunctionKey) -> list[FunctionKey]:
        """The method and those that override it in subclasses: what a call through a base may run."""
        if key not in self._overrides:
            self._overrides[key] = self._find_overrides(key)
        return list(self._overrides[key])

    def _find_overrides(self, key: FunctionKey) -> list[FunctionKey]:
        found = [key]
        index = self.function(key).class_index
        if self.defining(self.function(key).name) <= 1:
            return found
        queue = list(self.subclasses.get((key.path, index), ())) if index >= 0 else []
        name = self.function(key).name
        seen: set[Thing] = set()
        while queue and len(found) < MAX_OVERRIDES:
            cls = queue.pop(0)
            if cls in seen:
                continue
            seen.add(cls)
            if name in self.record(cls).methods:
                found.append(FunctionKey(cls.path, self.record(cls).methods[name]))
            queue.extend(self.subclasses.get((cls.path, cls.index), ()))
        return found

    def defining(self, name: str) -> int:
        """How many classes define a method of a name."""
        return self._defining.get(name, 0)

    @cached_property
    def _defining(self) -> Counter[str]:
        classes = (cls for outline in self.outlines.values() for cls in outline.classes)
        return Counter(name for cls in classes for name in cls.methods)

    def set_from_outside(self, path: str) -> frozenset[str]:
        """The attributes that a file sets of anything but `self`; a class that annotates a field sets it of none."""
        if path not in self._set_from_outside:
            classes = {cls.qualname for cls in self.outlines[path].classes}
            bound = ((*b.target.rpartition("."), b.value.startswith(":")) for b in self.outlines[path].bindings)
            others = (part for part in bound if part[1] and not f"{part[0]}.".startswith("self."))
            outside = (name for owner, _, name, annotated in others if not (annotated and owner in classes))
            self._set_from_outside[path] = frozenset(outside)
        return self._set_from_outside[path]

    @cached_property
    def own_names(self) -> OwnNames:
        """What tells calls that may run something of the project from those of libraries."""
        return OwnNames(self.outlines, self.callees, LOADING)

    @cached_property
    def attributes_of_others(self) -> frozenset[str]:
        """The attributes that any code of the project sets of another object, by name: `net.device = device`."""
        parts = (target.rpartition(".") for target in self.bound_chains if "." in target)
        return frozenset(name for owner, _, name in parts if owner != "self")

    @cached_property
    def bound_chains(self) -> frozenset[str]:
        """The chains that anything is bound to anywhere in the project: `model`, `self.device`, `net.forward`."""
        return frozenset({binding.target for outline in self.outlines.values() for binding in outline.bindings})

    @cached_property
    def text_mentions_device(self) -> bool:
        """Whether any file moves something to an accelerator, leaves that to a framework, or asks where tensors are."""
        return any(mentions_device(outline) for outline in self.outlines.values())

    @cached_property
    def calls_named(self) -> dict[str, list[CallSite]]:
        """The last name of what is called -> all calls of that in the project, in order."""
        found: dict[str, list[CallSite]] = {}
        for path, outline in self.outlines.items():
            for call in outline.calls:
                found.setdefault(last_part(call.callee), []).append(CallSite(path, call))
        return found

    @cached_property
    def callees(self) -> frozenset[str]:
        """The chains of all that is called anywhere in the project, a third as many as there are calls."""
        return frozenset({call.callee for outline in self.outlines.values() for call in outline.calls})

    @cached_property
    def called_names(self) -> frozenset[str]:
        """The last names of all that is called anywhere in the project: what a program switches once."""
        return frozenset(self.calls_named)


LOADING = ("from_pretrained", "from_config")
"""Methods of libraries that make a model of the class which they are asked of."""
