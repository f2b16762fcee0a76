"""Functions and classes that nothing in a project names: left over, as far as its own programs go.

What a library offers is called by who installs it, and names there say little: readers found most findings right that
stand in classes of libraries which their own files never name. A repository whose programs train runs what these name,
and what is left over they do not. A function whose only reason is that it takes tensors is seldom run by anyone where
nothing names it, in libraries neither, unless a docstring explains to users what it takes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

from torchperf_lint.facts.call_graph.by_name import builds_by_name
from torchperf_lint.facts.call_graph.index import FunctionKey, Index
from torchperf_lint.facts.call_graph.programs import Programs
from torchperf_lint.facts.call_graph.written import spans
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.hotness.named_calls import GUESSED
from torchperf_lint.facts.outlines.records import Outline
from torchperf_lint.facts.roles.role import EVERY_CALL, Role
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.facts.syntax.code_text import without_sentences
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_EACH_STEP = "of a module, which every step runs"
_FEW_NAMES = 64
"""From so many on each word of the project is read once, rather than all texts for each name."""
NO_PROGRAM = " (no program of this project gets to it)"
"""How the reason ends of a module that is left over."""


class Unmentioned:
    """Answers for one project."""

    def __init__(self, index: Index, text: Callable[[str], str], programs: Programs) -> None:
        self.index = index
        self.text = text
        self.programs = programs
        self._known: dict[tuple[str, str], bool] = {}

    def weighed(self, key: FunctionKey, role: Role, called: bool) -> Role:
        """The role of a function, `possible` where nothing names it; of a module's pass the reason says so.

        Readers who label whole files find such places worth a change; those who judge findings look for who runs the
        code, and call it dead.
        """
        if not self.holds(key, role, called):
            return role
        told = NO_PROGRAM if role.because.endswith(_EACH_STEP) else ""
        return role._replace(confidence=Confidence.POSSIBLE, because=role.because + told)

    def whoever_runs_it(self, hot: Hot, key: FunctionKey, seldom: bool = False) -> Hot:
        """Of what code does for nothing whenever it runs, where only how often it runs is in doubt.

        A module left over is as slow for whoever takes it up: readers who label whole files, and do not ask who uses
        what is in them, found 13 of 14 such places worth a change where a factory fills host memory first, and the
        other one a matter of taste. A copy of what runs in another file is told there. Of thirty places that a guess
        leads to (a chain of calls, a method by its name) all were; of those the claim is what is certain: each call.
        What runs seldom stays a doubt.
        """
        if hot.confidence is not Confidence.POSSIBLE or seldom:
            return hot
        if NO_PROGRAM in hot.because:
            return hot if self._is_copied(key) else replace(hot, confidence=Confidence.LIKELY)
        return replace(hot, confidence=Confidence.LIKELY, when=f"{EVERY_CALL} (`{self.index.function(key).qualname}`)")

    def _is_copied(self, key: FunctionKey) -> bool:
        """Whether a file of the same name elsewhere has the same function, and that runs."""
        name, own = self.index.function(key).qualname, key.path.rpartition("/")[2]
        others = (path for path in self.index.outlines if path != key.path and path.rpartition("/")[2] == own)
        return any(
            function.qualname == name and FunctionKey(path, number) not in self.programs.left
            for path in others
            for number, function in enumerate(self.index.outlines[path].functions)
        )

    def holds(self, key: FunctionKey, role: Role, called: bool = False) -> bool:
        """Whether no program reaches a function. Where that cannot be told: whether nothing names one that runs by a
        guess, or the class of a method, where programs would.

        A file that no other one imports says nothing of who uses it, unless programs import others of its package.
        Names in tests and examples do not count. Those in comments, docstrings and sentences do in libraries, which
        tell users there what they offer, as they do by a method of a class that they offer.
        """
        record = self.index.function(key)
        beside = self.programs.are_beside(key.path)
        if beside and self.programs.reached is not None and not self.programs.is_offered(key.path):
            return key in self.programs.left
        if record.parent > 0 or not self.text(key.path) or not self.programs.is_imported(key.path):
            return False
        offered = beside or (record.class_index < 0 and self.programs.is_in_package(key.path))
        if not called and GUESSED in role.because and offered:
            unused = not record.decorators and self._is_unnamed(key.path, record.name, beside)
            if unused or record.class_index < 0:
                return unused and (beside or not self._is_explained(key.path, record.name))
        if record.class_index < 0 or not beside:
            return False
        cls = self.index.outlines[key.path].classes[record.class_index]
        if "." in cls.qualname or self._may_be_built_by_name(cls.name):
            return False
        return self._is_unnamed(key.path, cls.name, True)

    @cached_property
    def builds_by_name(self) -> bool:
        """Whether the project makes objects of classes that it has by their names as text."""
        return any(builds_by_name(self.text(path)) for path in self.programs.telling)

    def _may_be_built_by_name(self, name: str) -> bool:
        if not self.builds_by_name:
            return False
        return self.programs.beside.settings is None or _word(name).search(self.programs.beside.settings) is not None

    @cached_property
    def _imported(self) -> frozenset[str]:
        return frozenset(
            last_part(name) for path in self.programs.telling for name in self.index.outlines[path].imports.values()
        )

    @cached_property
    def _called(self) -> frozenset[str]:
        telling = frozenset(self.programs.telling)
        return frozenset(
            name for name, sites in self.index.calls_named.items() if any(site.path in telling for site in sites)
        )

    def _is_unnamed(self, path: str, name: str, in_code: bool) -> bool:
        if name in self._called or name in self._imported:
            return False
        if (path, name) not in self._known:
            self._known[path, name] = not self._is_written_elsewhere(path, name, in_code)
        return self._known[path, name]

    def _is_explained(self, path: str, name: str) -> bool:
        """Whether a docstring tells users of a library what a function takes: it is offered to them, though nothing of
        the library runs it. Readers of whole files found what stands in such functions worth a change."""
        own = _own_lines(self.index.outlines[path], name)
        if own is None or name.startswith("_"):
            return False
        told = _DOCSTRING.search("\n".join(self.text(path).splitlines()[own[0] - 1 : own[1]]))
        return told is not None and _TAKES.search(told[1]) is not None

    def _may_name(self, name: str) -> Sequence[str]:
        """The files that may name a function or class; where many are asked for, those in which it is a word."""
        return self.programs.telling if len(self._known) < _FEW_NAMES else self._naming.get(name, ())

    @cached_property
    def _naming(self) -> dict[str, list[str]]:
        """The name of a function or class of the project -> the files in whose text it is a word."""
        found: dict[str, list[str]] = {}
        names: set[str] = set()
        for outline in self.index.outlines.values():
            names.update(function.name for function in outline.functions)
            names.update(cls.name for cls in outline.classes)
        for path in self.programs.telling:
            for name in names.intersection(_WORD.findall(self.text(path))):
                found.setdefault(name, []).append(path)
        return found

    def _is_written_elsewhere(self, path: str, name: str, in_code: bool) -> bool:
        word, read = _word(name), self.programs.code if in_code else self.text
        others = (other for other in self._may_name(name) if other != path and name in self.text(other))
        if any(word.search(read(other)) for other in others):
            return True
        lines = self.text(path).splitlines()
        own = _own_lines(self.index.outlines[path], name)
        if own is None:
            return len(word.findall(read(path))) != 1  # a method: where it is defined, and nowhere else
        first, last = own
        outside = "\n".join(lines[: first - 1] + lines[last:])
        outside = without_sentences(outside) if in_code else outside
        decorated = first > 1 and lines[first - 2].lstrip().startswith(("@", ")"))
        return decorated or word.search(outside) is not None


_WORD = pattern(r"\w+")
_DOCSTRING = pattern(r":[ \t]*(?:#[^\n]*)?\n[ \t]*r?(?:\"\"\"|''')(.*?)(?:\"\"\"|''')", re.DOTALL)
_TAKES = pattern(r"^[ \t]*(?:Args|Arguments|Parameters|Inputs?|Params)[ \t]*:?[ \t]*$|^[ \t]*:param\b", re.MULTILINE)
"""How docstrings of Google's, numpy's and Sphinx' style begin to tell of parameters."""


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(name)}\b")


def _own_lines(outline: Outline, name: str) -> tuple[int, int] | None:
    """The first and the last 1-based line of a module's own function or class; None where it has none of that name."""
    top = outline.tops.get(name)
    return next(((first, last) for kind, number, first, last in spans(outline) if (kind, number) == top), None)
