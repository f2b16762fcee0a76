"""All values that a project ever gives a name, of whatever it is a parameter, an attribute, a keyword or a variable.

    class Encoder(nn.Module):                          Encoder(dim=64)
        def __init__(self, dim, average=False):
            self.average = average

`average` is only ever False here: who runs these programs cannot have anything else without a change of the code. By
names alone, so that one of the same name elsewhere can only add values; what is computed, read from the command line or
a file, or written in settings may be anything.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.names_of_file import Given, NamesOfFile, Parameter
from torchperf_lint.facts.call_graph.by_name import builds_by_name
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.syntax import nodes_of
from torchperf_lint.patterns import pattern

_LINKS = 8
"""How many names are followed that hold one another: `self.average = mean`."""
_MANY = 12
"""Values of one name; a name with more is no switch."""
_COMMANDS = pattern(r"\bfire\.Fire\(|\btyro\.|\bLightningCLI\(|\bjsonargparse\b|\btyper\b|\bargbind\b|\bdefopt\b")
"""Make options of the command line of what parameters functions have."""
_DEFAULT = ast.Constant(None)
"""Stands for what a parameter is where no call gives it."""
_BY_ORDER = 5
"""How many values who is handed a class or function may give it by their order: `block(inner, outer, stride)`."""
_CALLED_BY_OTHERS = frozenset({"forward", "__call__", "backward", "main"})


def _held_by(value: Given) -> str:
    """The name whose values an expression has: `average`, `self.average`; empty where it is none."""
    if isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name) and value.value.id == "self":
        return value.attr
    return value.id if isinstance(value, ast.Name) else ""


def _kept_as(cls: ast.ClassDef, attribute: str) -> str:
    """The parameter that the constructor of a class keeps under an attribute, which nothing else in the class sets."""
    made = next((s for s in cls.body if isinstance(s, ast.FunctionDef) and s.name == "__init__"), None)
    if made is None or cls.decorator_list:  # decorators may make others of it
        return ""
    parameters = {place.arg for place in (*made.args.posonlyargs, *made.args.args, *made.args.kwonlyargs)}
    stored = [n for n in nodes_of(cls) if isinstance(n, ast.Attribute) and not isinstance(n.ctx, ast.Load)]
    changed = {n.id for n in nodes_of(made) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    kept = [s.value for s in made.body if isinstance(s, ast.Assign) and f"self.{attribute}" in map(chain, s.targets)]
    name = kept[0].id if len(kept) == 1 and isinstance(kept[0], ast.Name) else ""
    once = sum(chain(node) == f"self.{attribute}" for node in stored) == 1
    return name if once and name in parameters - changed else ""


class EverGiven:
    """Answers for one project."""

    def __init__(
        self,
        paths: Iterable[str],
        text: Callable[[str], str],
        body: Callable[[str], Body | None],
        settings: str | None,
    ) -> None:
        """Ask of these files.

        :param settings: the text of files of settings; None where none was read
        """
        self._texts = {path: text(path) for path in paths}
        self._body = body
        self._settings = settings
        self._files: dict[str, NamesOfFile | None] = {}
        self._values: dict[str, frozenset[object] | None] = {}
        self._of_objects: dict[tuple[str, int, str], frozenset[object] | None] = {}
        self._opened = any(map(self._takes_options, self._texts.values()))

    def values(self, name: str) -> frozenset[object] | None:
        """All constants that a name is ever given; None where it may be anything. Of a name nobody gives one: None."""
        if name not in self._values:
            self._values[name] = None if self._opened else self._find(name)
        return self._values[name]

    def of_objects(self, cls: ast.ClassDef, attribute: str) -> frozenset[object] | None:
        """All constants that an attribute of a class's objects ever is; None where it may be anything.

        For a name that has other meanings elsewhere, `offset`: of an attribute that keeps a parameter of the
        constructor as it was given, and that nothing sets afterwards.
        """
        key = (cls.name, cls.lineno, attribute)
        if key not in self._of_objects:
            self._of_objects[key] = self._find_of_objects(cls, attribute)
        return self._of_objects[key]

    def _find_of_objects(self, cls: ast.ClassDef, attribute: str) -> frozenset[object] | None:
        kept = _kept_as(cls, attribute)
        if not kept or self._opened or self._is_set(kept) or self._is_made_or_set_unseen(cls.name, attribute):
            return None
        parameters = [p for file in self.files_with(kept) for p in file.parameters.get(kept, ())]
        own = [parameter for parameter in parameters if parameter.owner == cls.name]
        given = list(self._given_to(own[0], kept)) if len(own) == 1 else [None]
        constants = [value.value for value in given if isinstance(value, ast.Constant)]
        return frozenset(constants) if constants and len(constants) == len(given) else None

    def _is_made_or_set_unseen(self, cls: str, attribute: str) -> bool:
        """Whether settings or text may have objects of a class made, or another class or file may set an attribute."""
        if self._is_set(cls) or any(cls in file.handed or file.below.get(cls) for file in self.files_with(cls)):
            return True
        calls = self._calls_of([cls])
        if not calls or any(keyword.arg is None for call in calls for keyword in call.keywords):
            return True
        made, kept = re.escape(cls), re.escape(attribute)
        unseen = re.compile(
            rf"[\"'](?:{made}|{kept})[\"']|\b{made}\s+as\s|(?<!\bself)\.{kept}\s*[-+*/|]?=(?!=)"
        )
        # Most files hold neither, which is quicker to tell.
        return any(unseen.search(t) for t in self._texts.values() if attribute in t or cls in t)

    def _takes_options(self, text: str) -> bool:
        """Whether a file may give any option a value that nobody reads here."""
        return _COMMANDS.search(text) is not None or (self._settings is None and builds_by_name(text))

    def _is_set(self, name: str) -> bool:
        """Whether files of settings hold a name."""
        return self._settings is not None and re.search(rf"\b{re.escape(name)}\b", self._settings) is not None

    def _find(self, name: str) -> frozenset[object] | None:
        names, found = [name], set[object]()
        for held in names:
            if held.startswith("__") or self._is_set(held):
                return None
            for given in self._all_given(held):
                other = _held_by(given)
                if isinstance(given, ast.Constant):
                    found.add(given.value)
                elif not other:
                    return None
                elif other not in names:
                    names.append(other)
            if len(names) > _LINKS or len(found) > _MANY:
                return None
        return frozenset(found) or None

    def _all_given(self, name: str) -> Iterator[Given]:
        files = []
        for file in self.files_with(name):
            files.append(file)
            yield from file.given.get(name, ())
        yield from self._by_parameter(name, files)

    def _by_parameter(self, name: str, files: list[NamesOfFile]) -> Iterator[Given]:
        """What parameters of a name are by default, and what calls give them by their order; None for anything."""
        parameters = {parameter for file in files for parameter in file.parameters.get(name, ())}
        for parameter in parameters:
            yield from self._given_to(parameter, name)

    def _given_to(self, parameter: Parameter, name: str) -> Iterator[Given]:
        of_class = not parameter.owner[:1].islower()
        owners = self._with_those_below(parameter.owner)
        calls = self._calls_of(owners)
        handed = any(owner in file.handed for owner in owners for file in self.files_with(owner))
        unseen = not calls and (not of_class or parameter.default is None)
        if parameter.owner in _CALLED_BY_OTHERS or unseen or (handed and 0 <= parameter.number < _BY_ORDER):
            yield None
        given = [self._given_in(call, name, parameter.number) for call in calls]
        if parameter.default is not None and (not given or handed or _DEFAULT in given):
            yield parameter.default
        inner = [call for owner in owners for file in self.files_with(owner) for call in file.inner.get(owner, ())]
        # What `super().__init__(*args)` hands on is what those give who make an object of the class.
        given += [self._given_in(call, name, parameter.number, _DEFAULT) for call in inner]
        yield from (value for value in given if value is not _DEFAULT)

    def _calls_of(self, names: Iterable[str]) -> list[ast.Call]:
        return [call for name in names for file in self.files_with(name) for call in file.calls.get(name, ())]

    def _with_those_below(self, owner: str) -> list[str]:
        """A class with all that derive from it, by their names."""
        found = [owner]
        for name in found:
            below = {cls for file in self.files_with(name) for cls in file.below.get(name, ())}
            found += sorted(below.difference(found))
        return found

    def _given_in(self, call: ast.Call, name: str, number: int, starred: Given = None) -> Given:
        """What a call gives a parameter; `starred` where `*args` may, and _DEFAULT where it leaves it as it is."""
        if any(keyword.arg == name for keyword in call.keywords):
            return next(keyword.value for keyword in call.keywords if keyword.arg == name)
        if self._settings is None and any(keyword.arg is None for keyword in call.keywords):
            return starred  # `f(**options)`, of which nobody has read the files
        of_class = isinstance(call.func, ast.Attribute) and call.func.attr == "__init__"
        if of_class and not isinstance(call.func.value, ast.Call):  # type: ignore[attr-defined]
            number += 1  # `Base.__init__(self, dim)`
        stars = next((i for i, arg in enumerate(call.args) if isinstance(arg, ast.Starred)), len(call.args))
        if stars <= number and stars < len(call.args):
            return starred
        return call.args[number] if 0 <= number < len(call.args) else _DEFAULT

    def files_with(self, name: str, first: str = "") -> Iterator[NamesOfFile]:
        """The files that hold a name, that at the path `first` before the others."""
        word = re.compile(rf"\b{re.escape(name)}\b")
        dashed = name.replace("_", "-")
        for path in sorted(self._texts, key=lambda path: path != first):
            text = self._texts[path]
            if (name in text and word.search(text)) or (dashed != name and f"--{dashed}" in text):
                file = self._file(path)
                if file is not None:
                    yield file

    def _file(self, path: str) -> NamesOfFile | None:
        if path not in self._files:
            body = self._body(path)
            self._files[path] = None if body is None else NamesOfFile(path, body.functions[0])
        return self._files[path]
