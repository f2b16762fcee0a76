"""Functions and classes that nothing in a project names: left over, as far as its own programs go.

What a library offers is called by who installs it, and names there say little: readers found most findings right that
stand in classes of libraries which their own files never name. A repository whose programs train runs what these name,
and what is left over they do not. A function whose only reason is that it takes tensors is seldom run by anyone where
nothing names it, in libraries neither.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

from torchperf_lint.facts.by_name import Names, builds_by_name, names_taken
from torchperf_lint.facts.chains import last_part
from torchperf_lint.facts.demonstrations import Demonstrations
from torchperf_lint.facts.index import FunctionKey, Index
from torchperf_lint.facts.reached import Reached
from torchperf_lint.facts.records import Outline
from torchperf_lint.facts.role import Role
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_STARTS = pattern(r"^if __name__ *== *['\"]__main__['\"]", re.MULTILINE)
_TESTS = pattern(r"(?:^|/)(?:(?:unit_?)?tests?|benchmarks?|docs?)/|(?:^|/)(?:test_\w+|\w+_test|conftest|unittest)\.py$")
_TRAINS = pattern(r"\.backward\(|\.fit\(|\.train\(|\.eval\(|Trainer\(|DataLoader|load_state_dict")
_RUNS = pattern(r"\.(?:fit|train|backward|run|generate|evaluate)$")
_TOP = pattern(r"(?P<folder>(?:src/)?(?P<name>\w+))/")
_GUESSED = "no call of it is seen"


class Beside(NamedTuple):
    """What stands beside a project's code."""

    settings: str | None = None
    """The texts of its files of settings; None where nobody has read them."""
    packaged: bool = False
    """Whether it can be installed: who installs it may use what it offers."""
    installed: bool = False
    """Whether it is what an installation left, which says of no program who runs it."""


NOTHING_BESIDE = Beside()


class Unmentioned:
    """Answers for one project."""

    def __init__(self, index: Index, text: Callable[[str], str], beside: Beside = NOTHING_BESIDE) -> None:
        self.index = index
        self.text = text
        self.beside = beside
        self._known: dict[tuple[str, str], bool] = {}
        self._codes: dict[str, str] = {}

    def weighed(self, key: FunctionKey, role: Role, called: bool) -> Role:
        """The role of a function, `possible` where nothing names it."""
        return role._replace(confidence=Confidence.POSSIBLE) if self.holds(key, role, called) else role

    def holds(self, key: FunctionKey, role: Role, called: bool = False) -> bool:
        """Whether nothing names a function that runs by a guess; or the class of a method, where programs would.

        A file that no other one imports says nothing of who uses it, unless programs import others of its package.
        Names in tests and examples do not count. Those in comments, docstrings and sentences do in libraries, which
        tell users there what they offer, as they do by a method of a class that they offer.
        """
        record = self.index.function(key)
        beside = self._has_programs_beside(key.path)
        if beside and self.reached is not None and not self._is_offered(key.path):
            return key in self.left
        if record.parent > 0 or not self.text(key.path) or not self._is_imported(key.path):
            return False
        offered = beside or (record.class_index < 0 and self._is_in_package(key.path))
        if not called and _GUESSED in role.because and offered:
            unused = not record.decorators and self._is_unnamed(key.path, record.name, beside)
            if unused or record.class_index < 0:
                return unused
        if record.class_index < 0 or not beside:
            return False
        cls = self.index.outlines[key.path].classes[record.class_index]
        if "." in cls.qualname or self._may_be_built_by_name(cls.name):
            return False
        return self._is_unnamed(key.path, cls.name, True)

    @cached_property
    def programs(self) -> list[str]:
        """The files that train or run a model and are started by themselves; none of a package for others."""
        return [path for path in self.index.outlines if self._is_program(path)]

    def _has_programs_beside(self, path: str) -> bool:
        return any(program != path for program in self.programs)

    def _is_program(self, path: str) -> bool:
        if Demonstrations.only_shows(path) or (self._is_in_package(path) and self._is_for_others(path)):
            return False
        return _TRAINS.search(self.text(path)) is not None and self._is_started(path) and self._acts(path)

    def _acts(self, path: str) -> bool:
        """Whether a file does something when it is started, and does not only define what others call."""
        if _STARTS.search(self.text(path)):
            return True
        outline = self.index.outlines[path]
        own = {*outline.tops, *(name for name, of in outline.imports.items() if self.index.module(of, path))}
        own |= {name for name, of in outline.imports.items() if self.index.module(of.rpartition(".")[0], path)}
        called = [call.callee for call in outline.calls if call.function == 0]
        return any(callee.partition(".")[0] in own or _RUNS.search(callee) for callee in called)

    @cached_property
    def reached(self) -> Reached | None:
        """What the programs of the project reach; None where settings may name anything."""
        paths = [path for path in self.index.outlines if not _TESTS.search(path)]
        taken = max((names_taken(self._code(path)) for path in paths), default=Names.NONE)
        if taken is Names.ANY or (taken is not Names.NONE and self.beside.settings is None):
            return None
        starts = paths if taken is Names.FILES else [path for path in paths if self._is_started(path)]
        settings = self.beside.settings if taken is not Names.NONE else None
        return Reached(self.index, self._code, paths, starts, settings)

    def _is_started(self, path: str) -> bool:
        """Whether a file may be started by itself."""
        if path.endswith((".ipynb", "__main__.py", "setup.py", "hubconf.py")) or _STARTS.search(self.text(path)):
            return True
        outline = self.index.outlines[path]
        if len(outline.functions) == 1 and not outline.classes and outline.bindings:
            return True  # a file of settings in Python
        if self._is_in_package(path):
            own = path.rpartition("/")[2].removesuffix(".py")
            return "main" in outline.tops and own not in self._imported_parts  # a command of the package
        return not self._is_imported(path) and any(call.function == 0 for call in outline.calls)

    @cached_property
    def left(self) -> frozenset[FunctionKey]:
        """The functions that no program of the project reaches; of files that none imports the module (0) as well."""
        reached = self.reached if self.programs else None
        if reached is None:
            return frozenset()
        found = []
        for path, outline in self.index.outlines.items():
            of_others = Demonstrations.only_shows(path) or self._is_offered(path)
            if of_others or not self._is_in_use(path) or not self._has_programs_beside(path):
                continue
            functions = (FunctionKey(path, number) for number in range(1, len(outline.functions)))
            found += [key for key in functions if not reached.function(key)]
            if not reached.file(path):
                found.append(FunctionKey(path, 0))
        return frozenset(found)

    def _is_for_others(self, path: str) -> bool:
        return self.beside.installed or "__init__.py" in self.index.outlines or self._is_offered(path)

    def _is_offered(self, path: str) -> bool:
        """Whether a file is of a package that the project offers to others: one that gathers what it has for them."""
        top = _TOP.match(path)
        start = self.index.outlines.get(f"{top['folder']}/__init__.py") if self.beside.packaged and top else None
        if start is None or top is None:
            return False
        own = (".", top["name"])
        return any(name.startswith(own) for name in (*start.imports.values(), *start.stars))

    def _is_in_use(self, path: str) -> bool:
        """Whether programs use a file, or others of its folder: what stands elsewhere may be meant for others."""
        return path.rpartition("/")[0] in self._folders_in_use

    @cached_property
    def _folders_in_use(self) -> frozenset[str]:
        return frozenset(path.rpartition("/")[0] for path in self.index.outlines if self._is_loaded(path))

    def _is_loaded(self, path: str) -> bool:
        return self.reached is not None and self.reached.file(path) and not self._is_started(path)

    def _is_imported(self, path: str) -> bool:
        """Whether a file is imported, or any part of the package that it belongs to."""
        parts = path.removesuffix(".py").split("/")
        own = parts if self._is_in_package(path) else parts[-1:]
        return not self._imported_parts.isdisjoint(own)

    @cached_property
    def _imported_parts(self) -> frozenset[str]:
        """The parts of all dotted names that are imported: of packages, modules and what they hold."""
        outlines = [self.index.outlines[path] for path in self._telling]
        names = (name for found in outlines for name in (*found.imports.values(), *found.stars))
        return frozenset(part for name in names for part in name.split("."))

    def _is_in_package(self, path: str) -> bool:
        return f"{path.rpartition('/')[0]}/__init__.py".lstrip("/") in self.index.outlines

    @cached_property
    def builds_by_name(self) -> bool:
        """Whether the project makes objects of classes that it has by their names as text."""
        return any(builds_by_name(self.text(path)) for path in self._telling)

    def _may_be_built_by_name(self, name: str) -> bool:
        if not self.builds_by_name:
            return False
        return self.beside.settings is None or _word(name).search(self.beside.settings) is not None

    @cached_property
    def _telling(self) -> list[str]:
        return [path for path in self.index.outlines if not Demonstrations.only_shows(path)]

    @cached_property
    def _imported(self) -> frozenset[str]:
        return frozenset(
            last_part(name) for path in self._telling for name in self.index.outlines[path].imports.values()
        )

    @cached_property
    def _called(self) -> frozenset[str]:
        calls = (call for path in self._telling for call in self.index.outlines[path].calls)
        return frozenset(last_part(call.callee) for call in calls)

    def _is_unnamed(self, path: str, name: str, in_code: bool) -> bool:
        if name in self._called or name in self._imported:
            return False
        if (path, name) not in self._known:
            self._known[path, name] = not self._is_written_elsewhere(path, name, in_code)
        return self._known[path, name]

    def _is_written_elsewhere(self, path: str, name: str, in_code: bool) -> bool:
        word, read = _word(name), self._code if in_code else self.text
        others = (other for other in self._telling if other != path and name in self.text(other))
        if any(word.search(read(other)) for other in others):
            return True
        lines = self.text(path).splitlines()
        own = _own_lines(self.index.outlines[path], name)
        if own is None:
            return len(word.findall(read(path))) != 1  # a method: where it is defined, and nowhere else
        first, last = own
        outside = "\n".join(lines[: first - 1] + lines[last:])
        outside = _without_sentences(outside) if in_code else outside
        decorated = first > 1 and lines[first - 2].lstrip().startswith(("@", ")"))
        return decorated or word.search(outside) is not None

    def _code(self, path: str) -> str:
        if path not in self._codes:
            self._codes[path] = _without_sentences(self.text(path))
        return self._codes[path]


_DOCSTRING = pattern(r"(\"{3}|'{3}).*?\1", re.DOTALL)
_COMMENT = pattern(r"#[^\n\"']*$", re.MULTILINE)
_SENTENCE = pattern(r"(['\"])[^'\"\n]*[ \t][^'\"\n]*\1")


def _without_sentences(text: str) -> str:
    """A text without its docstrings, comments, and strings of several words: a name there is talk."""
    return _SENTENCE.sub('""', _COMMENT.sub("", _DOCSTRING.sub(_blank, text)))


def _blank(match: re.Match[str]) -> str:
    return '""' + "\n" * match.group().count("\n")


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(name)}\b")


def _own_lines(outline: Outline, name: str) -> tuple[int, int] | None:
    """The first and the last 1-based line of a module's own function or class; None where it has none of that name."""
    kind, number = outline.tops.get(name, ("", -1))
    if kind == "function":
        return outline.functions[number].line, outline.functions[number].end_line
    if kind != "class":
        return None
    head = outline.classes[number].line
    # A region holds a body; of two that begin at or after a line the outer one comes first.
    bodies = (region for region in outline.regions if region.kind == "class" and region.start[0] >= head)
    body = min(bodies, key=lambda region: region.start, default=None)
    return (head, body.end[0]) if body is not None else None
