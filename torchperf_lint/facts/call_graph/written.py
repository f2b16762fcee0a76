"""The text of a file, by what it stands in: the module's own lines, a class's without its methods, a function's."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from torchperf_lint.facts.outlines.records import Class, Outline
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.patterns import pattern

_NAME = pattern(r"[^\W\d]\w*")
_IMPORT = pattern(
    r"^[ \t]*(?:from[ \t]+[.\w]+[ \t]+import[ \t]*(?:\([^)]*\)|[^\n(;\\]*(?:\\\n[^\n;\\]*)*)"
    r"|import[ \t]+[^\n;\\]*(?:\\\n[^\n;]*)*)",
    re.MULTILINE,
)
_OFFERED = pattern(r"^__all__[ \t]*(?::[^=\n]*)?\+?=[ \t]*[\[(].*?[\])]", re.MULTILINE | re.DOTALL)
_WRITTEN = pattern(
    r"([\"'])((?:\\.|(?!\1)[^\\\n])*)\1"
    r"|(?:(?<![\w.])([^\W\d]\w*) *)?\. *([^\W\d]\w*)"
    r"|([^\W\d]\w*)"
)
"""A string; an attribute, with its owner where that is a name; a name."""
_AS = pattern(r"(\w+)\s+as\s+(\w+)")


class Names(NamedTuple):
    """The names that a part of a file writes."""

    plain: frozenset[str]
    """By themselves: variables, functions, classes, modules."""
    attributes: frozenset[tuple[str, str]]
    """(owner, name) of `owner.name`; the owner is empty where it is no name."""
    texts: frozenset[str]
    """In strings."""


class Written:
    """Answers for one file."""

    def __init__(self, code: str, outline: Outline) -> None:
        """Sort the lines.

        :param code: the text without comments and docstrings, its lines in their places
        """
        found = _IMPORT.findall(code)
        self.imported = frozenset(name for statement in found for name in _NAME.findall(statement))
        """The names in its imports, wherever they stand: of packages, modules and what they hold."""
        self.imported_as: dict[str, set[str]] = {}
        """New name -> what imports bind to it, of which branches may each have one: `train_dense as train`."""
        for name, new in (pair for statement in found for pair in _AS.findall(statement)):
            self.imported_as.setdefault(new, set()).add(name)
        self.offered = frozenset(name for names in _OFFERED.findall(code) for name in _NAME.findall(names))
        """The names in its `__all__`."""
        self._bound = Counter(name for statement in found for name in _NAME.findall(statement))
        self._lines = _OFFERED.sub(_blank, _IMPORT.sub(_blank, code)).split("\n")
        self.outline = outline

    @cached_property
    def _parts(self) -> dict[tuple[str, int], list[str]]:
        """(kind, number) of a function, class or method -> its lines; ("module", 0) -> those of none."""
        owners = [("module", 0)] * len(self._lines)
        for kind, number, first, last in spans(self.outline):
            owners[first - 1 : last] = [(kind, number)] * len(owners[first - 1 : last])
        found: dict[tuple[str, int], list[str]] = {}
        for owner, line in zip(owners, self._lines, strict=True):
            found.setdefault(owner, []).append(line)
        return found

    def text_of(self, kind: str, number: int = 0) -> str:
        """The text of a function (kind `function` or `method`), of a class without its methods, or of the module."""
        return "\n".join(self._parts.get((kind, number), ()))

    def names_in(self, text: str) -> Names:
        """The names in a part of the file."""
        plain, attributes, texts = set(), set(), set()
        for quote, inside, owner, attribute, name in _WRITTEN.findall(text):
            if name:
                plain.add(name)
            elif attribute:
                attributes.add((owner, attribute))
                plain.add(owner)
            elif quote and inside:
                texts.add(inside)
        plain.discard("")
        words = frozenset(word for inside in texts for word in _NAME.findall(inside))
        return Names(frozenset(plain), frozenset(attributes), words)

    def is_bound_once(self, name: str) -> bool:
        """Whether one import, and nothing else in the file, says what a name is."""
        return self._bound[name] == 1 and name not in self.outline.tops and name not in self._variables

    @cached_property
    def _variables(self) -> frozenset[str]:
        bound = {binding.target for binding in self.outline.bindings}
        return frozenset(bound | {p.name for function in self.outline.functions for p in function.parameters})

    def registers(self, kind: str, number: int, inert: frozenset[str]) -> str:
        """The decorator that hands a module's own function or class to somebody, as written; empty where none does."""
        if kind == "function":
            given = [name for name in self.outline.functions[number].decorators if last_part(name) not in inert]
            return given[0] if given else ""
        above = _decorators(self._lines, self.outline.classes[number].line)
        given = [text for text in above if not inert.intersection(_NAME.findall(text.partition("(")[0])[-1:])]
        return " ".join(given)


def _blank(match: re.Match[str]) -> str:
    return "\n" * match.group().count("\n")


def _decorators(lines: Sequence[str], head: int) -> list[str]:
    """The decorators above the class whose `class` is on a 1-based line, the last one first."""
    found, current, depth = [], "", 0
    for line in reversed(lines[: head - 1]):
        text = line.strip()
        if not text and not depth:
            continue  # where a comment stood, or nothing
        depth += text.count(")") + text.count("]") - text.count("(") - text.count("[")
        current = f"{text} {current}"
        if depth > 0:
            continue
        if not text.startswith("@"):
            break
        found.append(current)
        current, depth = "", 0
    return found


def spans(outline: Outline) -> Iterable[tuple[str, int, int, int]]:
    """(kind, number, first line, last line) of all classes of a module, then of all functions and methods."""
    bodies = sorted((region.start, region.end) for region in outline.regions if region.kind == "class")
    for number, cls in enumerate(outline.classes):
        if is_top(cls):
            # A region holds a body; of two that begin at or after a line the outer one comes first.
            yield "class", number, cls.line, bodies[bisect_left(bodies, ((cls.line, 0), (0, 0)))][1][0]
    for number, function in enumerate(outline.functions):
        if number == 0 or function.parent != 0:
            continue
        if function.class_index < 0:
            yield "function", number, function.line, function.end_line
        elif is_top(outline.classes[function.class_index]):
            yield "method", number, function.line, function.end_line


def is_top(cls: Class) -> bool:
    """Whether a class stands in no other and in no function."""
    return cls.function == 0 and "." not in cls.qualname


def folded(name: str) -> str:
    """A name however its words are set apart: `SmallNet`, `small_net`, `small-net`."""
    return name.replace("_", "").replace("-", "").lower()
