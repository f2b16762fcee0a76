"""What the programs of a project reach: a name that running code writes is taken for all that bears it.

As bundlers shake trees, but by names alone: a file runs where a program is it or imports it; a function of a file that
runs where running code writes its name; a method where its class runs and its name is written, or where what runs
classes calls it. Nothing is called reached for less, so what is left is reached by nobody who starts these programs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from torchperf_lint.facts.call_graph.index import FunctionKey, Index, Thing
from torchperf_lint.facts.call_graph.kin import Kin
from torchperf_lint.facts.call_graph.written import Written, folded, is_top
from torchperf_lint.facts.outlines.records import Outline
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.patterns import pattern

_RUNS_OF_ITSELF = pattern(r"^__\w+__$")
_INERT = frozenset(
    "no_grad enable_grad inference_mode set_grad_enabled lru_cache cache cached_property wraps staticmethod "
    "classmethod property setter jit script compile disable autocast custom_fwd custom_bwd dataclass "
    "abstractmethod contextmanager overload override unused ignore export typecheck typechecked jaxtyped beartype "
    "add_start_docstrings profile deprecated checkpoint script_if_tracing rank_zero_only final total_ordering".split()
)
"""Decorators that hand the function to nobody."""
_QUIET_BASES = frozenset(
    "object abc.ABC ABC typing.Generic Generic typing.Protocol Protocol enum.Enum torch.nn.Module torch.nn.Sequential "
    "torch.nn.ModuleList torch.utils.data.Dataset torch.utils.data.IterableDataset torch.autograd.Function "
    "typing.NamedTuple".split()
)
"""Classes of others that call no method of theirs but the ones below."""
_CALLED_BY_THOSE = frozenset(
    "forward backward setup_context jvp vmap extra_repr train eval to cpu cuda half float double bfloat16 type "
    "parameters named_parameters children named_children modules named_modules buffers named_buffers state_dict "
    "load_state_dict _load_from_state_dict _save_to_state_dict _apply apply register_buffer register_parameter "
    "zero_grad requires_grad_ get_extra_state set_extra_state _get_name _init_weights".split()
)
_ALL_OF_A_FILE = pattern(r"(?<![.\w])(?:globals\(\)|eval\(|vars\(\)|locals\(\)\[|exec\(|sys\.modules\[__name__\])")
_COMPUTED = pattern(
    r"(?<![.\w])(?:getattr\(\s*([\w.]+)\s*,(?!\s*[\"']\w+[\"']\s*[,)])|(?:vars|dir|(?:inspect\.)?getmembers)\(\s*([\w.]+)"
    r"|([\w.]+)\.__dict__\b)"
)
"""`getattr(x, name)`, `x.__dict__`: of what, where the name is no literal."""
_PREFIXES = pattern(r"\bgetattr\(\s*[\w.]+\s*,\s*f?[\"'](\w+_)(?:\{|[\"']\s*\+)")
"""`getattr(x, f"loss_{name}")`: how what it takes begins."""
_COMPUTED_PARTS = tuple("getattr( __dict__ vars( dir( getmembers( globals( eval( exec( locals( sys.modules".split())
"""Some of which a text must hold for these: quick to tell."""
_OFFERS = pattern(r"^(?:src/)?\w+/__init__\.py$")
"""What a package imports there it offers to users; deeper down it serves the package itself."""
_ITSELF = frozenset({"self", "cls"})
_SUBCLASSES = pattern(r"\b__subclasses__\(|\b__init_subclass__\b")


class Unit(NamedTuple):
    """What is reached as a whole: a function, a class without its methods, or a method."""

    path: str
    kind: str
    number: int


class Reached:
    """Answers for one project, of which some files are started by themselves."""

    def __init__(
        self,
        index: Index,
        code: Callable[[str], str],
        paths: Sequence[str],
        starts: Iterable[str],
        settings: str | None,
    ) -> None:
        """Follow all names.

        :param code: the text of a file, with lines in their places, without comments and sentences
        :param paths: the files that say what is used; what stands in others is used by nobody
        :param starts: those of them that are started by themselves
        :param settings: the text of files of settings, which may name what is used; None where none was read
        """
        self.index = index
        self._code = code
        self._by_stem: dict[str, list[str]] = defaultdict(list)
        for path in paths:
            self._by_stem[_stem(path)].append(path)
        self._files: dict[str, Written] = {}
        self._names: set[str] = set()
        self._units: set[Unit] = set()
        self._opened: set[str] = set()
        self._methods: dict[str, dict[int, list[int]]] = {}
        self._own: dict[str, dict[str, list[Unit]]] = {}
        """Path -> name -> what the file defines by it."""
        self._waiting: dict[str, list[Unit]] = defaultdict(list)
        """Name -> what bears it in files that run, and in classes that run."""
        self._kin = Kin(index)
        self._said: set[tuple[int, str]] = set()
        """(kin, name) that methods of classes of one kin ask their object for."""
        self._names_of_kin: dict[int, frozenset[str]] = {}
        self._todo: list[Callable[[], None]] = []
        self._asks_for_subclasses = any(_SUBCLASSES.search(code(path)) for path in paths)
        self._settings = None if settings is None else frozenset(re.findall(r"\w+", settings))
        self._folded = frozenset(map(folded, re.findall(r"[\w-]+", settings or "")))
        self._mention(self._settings or ())
        for path in starts:
            self._load(path)
        while self._todo:
            self._todo.pop()()

    def file(self, path: str) -> bool:
        """Whether a file runs."""
        return path in self._files

    def function(self, key: FunctionKey) -> bool:
        """Whether a function, or what it stands in, is reached."""
        outline = self.index.outlines[key.path]
        return _unit_of(outline, key) in self._units

    def _mention(self, names: Iterable[str]) -> None:
        for name in names:
            if name in self._names:
                continue
            self._names.add(name)
            for path in self._by_stem.get(name, ()):
                self._load(path)
            for unit in self._waiting.get(name, ()):
                self._reach(unit)

    def _load(self, path: str) -> None:
        if path in self._files:
            return
        self._files[path] = written = Written(self._code(path), self.index.outlines[path])
        self._todo.append(lambda: self._run(path, written))

    def _run(self, path: str, written: Written) -> None:
        """Follow what a file does when it is imported."""
        outline = self.index.outlines[path]
        for part in path.split("/")[:-1]:
            self._load_stem(part, path)
        for name in written.imported:
            self._load_stem(name, path)
        if _OFFERS.search(path):
            self._mention(written.imported | written.offered)
        for unit, name in _units(outline, path):
            self._offer(unit, name, self._is_registered(unit, written))
        self._read(Unit(path, "module", 0), written)

    def _is_registered(self, unit: Unit, written: Written) -> bool:
        """Whether a function or class may be taken by who never writes its name."""
        if unit.kind == "class" and self._asks_for_subclasses and written.outline.classes[unit.number].bases:
            return True
        decorator = written.registers(unit.kind, unit.number, _INERT)
        if not decorator or unit.kind != "class" or self._settings is None:
            return bool(decorator)
        # Of a class that is registered by its own name, settings write that name, perhaps as `small_net`.
        by_another = '"' in decorator or "'" in decorator
        return by_another or folded(written.outline.classes[unit.number].name) in self._folded

    def _load_stem(self, name: str, importer: str) -> None:
        for path in self._by_stem.get(name, ()):
            if path != importer:
                self._load(path)

    def _offer(self, unit: Unit, name: str, at_once: bool) -> None:
        self._waiting[name].append(unit)
        if at_once or name in self._names:
            self._reach(unit)

    def _reach(self, unit: Unit) -> None:
        if unit not in self._units:
            self._units.add(unit)
            self._todo.append(lambda: self._follow(unit))

    def _follow(self, unit: Unit) -> None:
        self._read(unit, self._files[unit.path])
        if unit.kind == "class":
            self._open(unit)

    def _read(self, unit: Unit, written: Written) -> None:
        """Follow the names that a part of a file writes."""
        text = written.text_of(unit.kind, unit.number)
        names = written.names_in(text)
        self._mention(names.texts)
        for name in names.plain:
            if not self._is_plain(unit, written, name):
                named = last_part(written.outline.imports.get(name, name))
                self._mention([name, named, *written.imported_as.get(name, ())])
        for owner, name in names.attributes:
            if owner in _ITSELF and self._reach_of_kin(unit, name):
                continue
            module = self._imported(written, owner)
            if module is None or module.kind != "module" or not self._reach_thing(self.index.member(module.path, name)):
                self._mention([name])
        self._computed(unit, text)

    def _reach_of_kin(self, unit: Unit, name: str) -> bool:
        """Reach the methods of a name in the classes that an object of a method's class may be of; False without any.

        `self.blur(x)` means those of the class, of what it derives from and of what derives from it; a mixin's are
        those of its siblings.
        """
        number = self._class_of(unit)
        kin = self._kin.of(unit.path, number) if number >= 0 else None
        if kin is None or name not in self._methods_of_kin(kin):
            return False
        if (kin, name) not in self._said:
            self._said.add((kin, name))
            for waiting in self._waiting.get(name, ()):
                if self._is_of(waiting, kin):
                    self._reach(waiting)
        return True

    def _class_of(self, unit: Unit) -> int:
        """The number of the class that a unit is, or is a method of; -1 for a function."""
        if unit.kind == "class":
            return unit.number
        return self.index.outlines[unit.path].functions[unit.number].class_index if unit.kind == "method" else -1

    def _kin_around(self, unit: Unit) -> int | None:
        """The kin of the object that `self` is in a class or method; None where a class inside may mean its own."""
        number = self._class_of(unit)
        if number < 0 or not all(map(is_top, self.index.outlines[unit.path].classes)):
            return None
        return self._kin.of(unit.path, number)

    def _methods_of_kin(self, kin: int) -> frozenset[str]:
        if kin not in self._names_of_kin:
            names = (name for path, number in self._kin.members(kin) for name in self._named_in(path, number))
            self._names_of_kin[kin] = frozenset(names)
        return self._names_of_kin[kin]

    def _named_in(self, path: str, number: int) -> Iterable[str]:
        functions = self.index.outlines[path].functions
        return (functions[method].name for method in self._methods_of(path).get(number, ()))

    def _is_of(self, unit: Unit, kin: int) -> bool:
        number = self._class_of(unit) if unit.kind == "method" else -1
        return number >= 0 and self._kin.of(unit.path, number) == kin

    def _is_plain(self, unit: Unit, written: Written, name: str) -> bool:
        """Whether a name can only be what the file itself says it is: its own, a local one, or what it imports."""
        outline = written.outline
        if unit.kind == "class" and name in outline.classes[unit.number].methods:
            return False  # `forward = _forward`
        if name in outline.imports:
            thing = self._imported(written, name)
            return thing is not None and self._reach_thing(thing)
        if name in outline.tops:
            self._reach_own(unit.path, name)
            return True
        return not outline.stars

    def _imported(self, written: Written, name: str) -> Thing | None:
        """What a name is that one import binds; None where that is not known."""
        dotted = written.outline.imports.get(name)
        if dotted is None or not written.is_bound_once(name):
            return None
        return self.index.imported(dotted, written.outline.path)

    def _reach_thing(self, thing: Thing | None) -> bool:
        """Reach what an import names; False where that is not known to be one thing of the project, or of others."""
        if thing is None or thing.kind not in ("module", "class", "function", "external"):
            return False
        if thing.kind == "external":
            return not self._by_stem.keys() & set(thing.dotted.split("."))
        self._load(thing.path)
        if thing.kind != "module":
            self._reach_own(thing.path, self._name_of(thing))
        return True

    def _name_of(self, thing: Thing) -> str:
        outline = self.index.outlines[thing.path]
        return outline.classes[thing.index].name if thing.kind == "class" else outline.functions[thing.index].name

    def _reach_own(self, path: str, name: str) -> None:
        """Reach what a file defines by a name, however often."""
        if path not in self._own:
            self._own[path] = defaultdict(list)
            for unit, own in _units(self.index.outlines[path], path):
                self._own[path][own].append(unit)
        self._load(path)
        for unit in self._own[path].get(name, ()):
            self._reach(unit)

    def _open(self, unit: Unit) -> None:
        """Follow the methods of a class that runs."""
        outline = self.index.outlines[unit.path]
        bases = self.index.external_bases(Thing("class", unit.path, unit.number))
        quiet = _QUIET_BASES.issuperset(bases)
        for number in self._methods_of(unit.path).get(unit.number, ()):
            function = outline.functions[number]
            of_itself = _RUNS_OF_ITSELF.search(function.name) or function.name in _CALLED_BY_THOSE
            handed = any(last_part(decorator) not in _INERT for decorator in function.decorators)
            said = (self._kin.of(unit.path, unit.number), function.name) in self._said
            at_once = bool(of_itself or handed or said or not quiet)
            self._offer(Unit(unit.path, "method", number), function.name, at_once)

    def _methods_of(self, path: str) -> dict[int, list[int]]:
        """Class -> its methods, all that bear one name."""
        if path not in self._methods:
            self._methods[path] = defaultdict(list)
            for number, function in enumerate(self.index.outlines[path].functions):
                if number and function.parent == 0 and function.class_index >= 0:
                    self._methods[path][function.class_index].append(number)
        return self._methods[path]

    def _computed(self, unit: Unit, text: str) -> None:
        """Reach what a text may take by names that are computed."""
        if not any(part in text for part in _COMPUTED_PARTS):
            return
        outline = self.index.outlines[unit.path]
        owners = {owner for found in _COMPUTED.findall(text) for owner in found if owner}
        if _ALL_OF_A_FILE.search(text):
            owners |= set(outline.imports)
            self._mention_around(unit.path)
            for star in outline.stars:
                self._open_file(star)
        if owners & _ITSELF:
            kin = self._kin_around(unit)
            if kin is None:
                self._mention_around(unit.path)
            else:
                self._mention(self._methods_of_kin(kin))
        for prefix in _PREFIXES.findall(text):
            self._mention(name for name in self._all_names if name.startswith(prefix))
        for owner in owners:
            name, _, rest = owner.partition(".")
            if name in outline.imports:
                self._open_file(f"{outline.imports[name]}.{rest}")

    def _mention_around(self, path: str) -> None:
        """Reach all that a file has, and the files of the classes that are kin to its own."""
        for kin in self._kin_of(path):
            self._mention(_names_of(self.index.outlines[kin]))

    def _kin_of(self, path: str) -> set[str]:
        """The files of the classes of a file, of what these derive from, and of what derives from them."""
        found = {path}
        for number, cls in enumerate(self.index.outlines[path].classes):
            if is_top(cls):
                thing = Thing("class", path, number)
                found |= {other.path for other in (*self.index.ancestry(thing), *self.index.below(thing)) if other.path}
        return found

    @cached_property
    def _all_names(self) -> frozenset[str]:
        paths = (path for paths in self._by_stem.values() for path in paths)
        return frozenset(name for path in paths for name in _names_of(self.index.outlines[path]))

    def _open_file(self, dotted: str) -> None:
        """Reach all that files have that are imported by some name."""
        for part in dotted.split("."):
            for path in self._by_stem.get(part, ()):
                outline = self.index.outlines[path]
                if path not in self._opened:
                    self._opened.add(path)
                    self._load(path)
                    self._mention([*_names_of(outline), *outline.imports])
                    for star in outline.stars:
                        self._open_file(star)


def _stem(path: str) -> str:
    parts = path.removesuffix(".py").removesuffix(".ipynb").split("/")
    return parts[-2] if parts[-1] == "__init__" and len(parts) > 1 else parts[-1]


def _names_of(outline: Outline) -> list[str]:
    return [function.name for function in outline.functions] + [cls.name for cls in outline.classes]


def _units(outline: Outline, path: str) -> Iterable[tuple[Unit, str]]:
    """What a file holds that is reached as a whole, with its name."""
    for number, function in enumerate(outline.functions):
        if number and function.parent == 0 and function.class_index < 0:
            yield Unit(path, "function", number), function.name
    for number, cls in enumerate(outline.classes):
        if is_top(cls):
            yield Unit(path, "class", number), cls.name


def _unit_of(outline: Outline, key: FunctionKey) -> Unit:
    """The unit that a function is or stands in."""
    path, number = key
    while (parent := outline.functions[number].parent) > 0:
        number = parent
    function = outline.functions[number]
    if function.class_index < 0:
        return Unit(path, "function", number)
    cls = outline.classes[function.class_index]
    if is_top(cls):
        return Unit(path, "method", number)
    outer = cls.qualname.partition(".")[0]
    return Unit(path, "class", next(n for n, found in enumerate(outline.classes) if found.qualname == outer))
