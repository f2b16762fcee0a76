"""The programs of a project: what they reach, and what is left over.

A program trains or runs a model and is started by itself. What none of them reaches nobody waits for, but for packages
that are made for others: who installs those may use what they offer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

from torchperf_lint.facts.call_graph.by_name import Names, names_taken
from torchperf_lint.facts.call_graph.demonstrations import Demonstrations
from torchperf_lint.facts.call_graph.implementations import leaves_methods_to_others
from torchperf_lint.facts.call_graph.index import FunctionKey, Index
from torchperf_lint.facts.call_graph.reached import Reached
from torchperf_lint.facts.syntax.code_text import without_sentences
from torchperf_lint.patterns import pattern

_STARTS = pattern(r"^if __name__ *== *['\"]__main__['\"]", re.MULTILINE)
_TRAINS = pattern(r"\.backward\(|\.fit\(|\.train\(|\.eval\(|Trainer\(|DataLoader|load_state_dict")
_RUNS = pattern(r"\.(?:fit|train|backward|run|generate|evaluate)$")
_AT_ITS_START = (".parse_args", ".backward")
"""What only programs call outside of functions."""
_TOP = pattern(r"(?P<folder>(?:src/)?(?P<name>\w+))/")


class Beside(NamedTuple):
    """What stands beside a project's code."""

    settings: str | None = None
    """The texts of its files of settings; None where nobody has read them."""
    packaged: bool = False
    """Whether it can be installed: who installs it may use what it offers."""
    installed: bool = False
    """Whether it is what an installation left, which says of no program who runs it."""
    commands: str = ""
    """The texts of scripts and pages that show how its programs are started, where that was asked for."""


NOTHING_BESIDE = Beside()


class Programs:
    """Answers for one project."""

    def __init__(self, index: Index, text: Callable[[str], str], beside: Beside = NOTHING_BESIDE) -> None:
        self.index = index
        self.text = text
        self.beside = beside
        self._codes: dict[str, str] = {}
        self._starting: dict[str, bool] = {}

    @cached_property
    def paths(self) -> list[str]:
        """The files that train or run a model and are started by themselves; none of a package for others."""
        return [path for path in self.index.outlines if self._is_program(path)]

    def are_beside(self, path: str) -> bool:
        """Whether there are programs beside a file."""
        return any(program != path for program in self.paths)

    def _is_program(self, path: str) -> bool:
        if Demonstrations.only_shows(path) or (self.is_in_package(path) and self._is_for_others(path)):
            return False
        return _TRAINS.search(self.text(path)) is not None and self._is_started(path) and self._acts(path)

    def starts_itself(self, path: str) -> bool:
        """Whether a file says what it does when it is started by itself."""
        if path not in self._starting:
            text = self.text(path)
            self._starting[path] = "__main__" in text and _STARTS.search(text) is not None
        return self._starting[path]

    def _acts(self, path: str) -> bool:
        """Whether a file does something when it is started, and does not only define what others call."""
        if self.starts_itself(path):
            return True
        outline = self.index.outlines[path]
        own = {*outline.tops, *(name for name, of in outline.imports.items() if self.index.module(of, path))}
        own |= {name for name, of in outline.imports.items() if self.index.module(of.rpartition(".")[0], path)}
        called = [call.callee for call in outline.calls if call.function == 0]
        return any(callee.partition(".")[0] in own or _RUNS.search(callee) for callee in called)

    @cached_property
    def reached(self) -> Reached | None:
        """What the programs of the project reach; None where settings may name anything."""
        paths = [path for path in self.index.outlines if not Demonstrations.checks(path)]
        own = frozenset(part for path in paths for part in path.removesuffix(".py").split("/"))
        taken = max((names_taken(self.code(path), own) for path in paths), default=Names.NONE)
        if taken is Names.ANY or (taken is not Names.NONE and self.beside.settings is None):
            return None
        starts = paths if taken is Names.FILES else [path for path in paths if self._is_started(path)]
        settings = self.beside.settings if taken is not Names.NONE else None
        return Reached(self.index, self.code, paths, starts, settings)

    def _is_started(self, path: str) -> bool:
        """Whether a file may be started by itself."""
        if path.endswith((".ipynb", "__main__.py", "setup.py", "hubconf.py")) or self.starts_itself(path):
            return True
        outline = self.index.outlines[path]
        if len(outline.functions) == 1 and not outline.classes and outline.bindings:
            return True  # a file of settings in Python
        if self.is_in_package(path):
            if any(call.function == 0 and call.callee.endswith(_AT_ITS_START) for call in outline.calls):
                return True  # whoever imported it would have to be given its arguments, or wait for its training
            own = path.rpartition("/")[2].removesuffix(".py")
            return "main" in outline.tops and own not in self._imported_parts  # a command of the package
        return not self.is_imported(path) and any(call.function == 0 for call in outline.calls)

    @cached_property
    def left(self) -> frozenset[FunctionKey]:
        """The functions that no program of the project reaches; of files that none imports the module (0) as well."""
        reached = self.reached if self.paths else None
        if reached is None:
            return frozenset()
        found = []
        for path, outline in self.index.outlines.items():
            of_others = Demonstrations.only_shows(path) or self.is_offered(path)
            if of_others or not self._is_in_use(path) or not self.are_beside(path):
                continue
            functions = (FunctionKey(path, number) for number in range(1, len(outline.functions)))
            found += [key for key in functions if not reached.function(key)]
            if not reached.file(path):
                found.append(FunctionKey(path, 0))
        return frozenset(found)

    def _is_for_others(self, path: str) -> bool:
        return self.beside.installed or "__init__.py" in self.index.outlines or self.is_offered(path)

    def is_offered(self, path: str) -> bool:
        """Whether a file is of a package that the project offers to others: one that gathers what it has for them.

        So is a file in which a class leaves methods to who derives from it, and nothing of the project does.
        """
        top = _TOP.match(path)
        start = self.index.outlines.get(f"{top['folder']}/__init__.py") if self.beside.packaged and top else None
        if start is None or top is None:
            return False
        own = (".", top["name"])
        gathers = any(name.startswith(own) for name in (*start.imports.values(), *start.stars))
        return gathers or leaves_methods_to_others(self.index, path)

    def _is_in_use(self, path: str) -> bool:
        """Whether programs use a file, or others of its folder: what stands elsewhere may be meant for others."""
        return path.rpartition("/")[0] in self._folders_in_use

    @cached_property
    def _folders_in_use(self) -> frozenset[str]:
        return frozenset(path.rpartition("/")[0] for path in self.index.outlines if self._is_loaded(path))

    def _is_loaded(self, path: str) -> bool:
        return self.reached is not None and self.reached.file(path) and not self._is_started(path)

    def is_imported(self, path: str) -> bool:
        """Whether a file is imported, or any part of the package that it belongs to."""
        parts = path.removesuffix(".py").split("/")
        own = parts if self.is_in_package(path) else parts[-1:]
        return not self._imported_parts.isdisjoint(own)

    @cached_property
    def _imported_parts(self) -> frozenset[str]:
        """The parts of all dotted names that are imported: of packages, modules and what they hold."""
        outlines = [self.index.outlines[path] for path in self.telling]
        names = {name for found in outlines for name in (*found.imports.values(), *found.stars)}
        return frozenset(part for name in names for part in name.split("."))

    def is_in_package(self, path: str) -> bool:
        """Whether a file's folder is a package."""
        return f"{path.rpartition('/')[0]}/__init__.py".lstrip("/") in self.index.outlines

    @cached_property
    def telling(self) -> list[str]:
        """The files that say what the project uses: all but tests and examples."""
        return [path for path in self.index.outlines if not Demonstrations.only_shows(path)]

    def code(self, path: str) -> str:
        """The text of a file without comments, docstrings and sentences, its lines in their places."""
        if path not in self._codes:
            self._codes[path] = without_sentences(self.text(path))
        return self._codes[path]
