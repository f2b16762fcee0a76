"""SourceFile: what a rule sees of one file. Parses with libcst only what holds a surviving candidate."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import libcst as cst

from torchperf_lint.facts.hotness import Hot
from torchperf_lint.facts.outline import Outline, Position
from torchperf_lint.facts.project import Project
from torchperf_lint.facts.text import split_lines
from torchperf_lint.facts.tree import Unit, outermost, unit_of
from torchperf_lint.facts.value import UNKNOWN, Frame, Value
from torchperf_lint.model import Location, Related

BRIEF = 40


@dataclass(frozen=True)
class Site:
    """A node of a file, with where it stands and why it is hot (None when it is not)."""

    node: cst.CSTNode
    unit: Unit = field(repr=False)
    location: Location
    function: int
    """The index of the innermost function around it in the outline."""
    hot: Hot | None

    @property
    def start(self) -> Position:
        """1-based line and column."""
        return (self.location.line, self.location.column)


class SourceFile:
    """One file under the eyes of the rules; everything is worked out on first need."""

    def __init__(self, project: Project, path: str, text: str, shown: str | None = None) -> None:
        self.project = project
        self.path = path
        """Relative to the project's root, POSIX."""
        self.shown = shown or path
        """As reports show it."""
        self.text = text
        self._units: dict[int, Unit] = {}

    @property
    def outline(self) -> Outline:
        """The file's outline."""
        return self.project.index.outlines[self.path]

    @cached_property
    def lines(self) -> list[str]:
        """The file's lines without their ends."""
        return split_lines(self.text)

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", self.text))]

    def mentions(self, triggers: Sequence[str]) -> bool:
        """Whether the text holds one of the triggers at all."""
        return any(trigger in self.text for trigger in triggers)

    # -- candidates --------------------------------------------------------------------------------

    def hot_calls(self, triggers: Sequence[str]) -> Iterator[Site]:
        """The hot calls in every unit in which one of the triggers stands on a hot line."""
        for site in self.calls(triggers, hot=True):
            if site.hot is not None:
                yield site

    def calls(self, triggers: Sequence[str], hot: bool = False) -> Iterator[Site]:
        """The calls in every unit that holds one of the triggers (with `hot`: on a hot line)."""
        for number in self._units_with(tuple(triggers), hot):
            unit = self.unit(number)
            for node in unit.nodes:
                if isinstance(node, cst.Call):
                    yield self.site(node, unit)

    def _units_with(self, triggers: tuple[str, ...], hot: bool) -> list[int]:
        outline, found = self.outline, set()
        for position in self._occurrences(triggers):
            region = self.project.hotness.innermost(self.path, position)
            number = outermost(outline, outline.regions[region].function)
            if number not in found and (not hot or self.project.hotness.of_region(self.path, region) is not None):
                found.add(number)
        return sorted(found)

    def _occurrences(self, triggers: tuple[str, ...]) -> Iterator[Position]:
        spellings = [re.escape(trigger) for trigger in triggers]
        spellings += [rf"\b{re.escape(name)}\b" for name in self._aliases(triggers)]
        pattern = re.compile("|".join(spellings))
        for match in pattern.finditer(self.text):
            line = bisect_right(self._line_starts, match.start())
            yield line, match.start() - self._line_starts[line - 1] + 1

    def _aliases(self, triggers: tuple[str, ...]) -> list[str]:
        """Names under which the file imports something that a trigger names: `DataParallel as DP`."""
        names = self.outline.imports.items()
        return [name for name, dotted in names if any(t in f"{dotted}(" for t in triggers) and name not in triggers]

    def unit(self, number: int) -> Unit:
        """The parsed unit of an outermost function, or of the module (0). Raises CannotCheck."""
        if number not in self._units:
            self._units[number] = unit_of(self.outline, self.lines, number)
        return self._units[number]

    # -- questions about a node --------------------------------------------------------------------

    def site(self, node: cst.CSTNode, unit: Unit) -> Site:
        """Where a node stands and whether it is hot."""
        start, end = unit.span(node)
        region = self.project.hotness.innermost(self.path, start)
        function = self.outline.regions[region].function
        location = Location(self.shown, *start, *end)
        return Site(node, unit, location, function, self.project.hotness.of_region(self.path, region))

    def source(self, node: cst.CSTNode, unit: Unit) -> str:
        """The text of a node as it stands in the file."""
        (line, column), (end_line, end_column) = unit.span(node)
        if line == end_line:
            return self.lines[line - 1][column - 1 : end_column - 1]
        first, last = self.lines[line - 1][column - 1 :], self.lines[end_line - 1][: end_column - 1]
        return "\n".join([first, *self.lines[line : end_line - 1], last])

    def brief(self, node: cst.CSTNode, unit: Unit) -> str:
        """The text of a node on one line, cut where a message would overflow."""
        text = " ".join(self.source(node, unit).split())
        return text if len(text) <= BRIEF else text[: BRIEF - 1] + "…"

    def expression(self, node: cst.BaseExpression, unit: Unit) -> ast.expr | None:
        """A node as an `ast` expression, for values; None where it does not stand alone."""
        try:
            return ast.parse(f"({self.source(node, unit)}\n)", mode="eval").body
        except (SyntaxError, RecursionError, MemoryError, ValueError):
            return None

    def value(self, node: cst.BaseExpression, site: Site) -> Value:
        """What an expression within a site is, where it lives, and why."""
        expression = self.expression(node, site.unit)
        if expression is None:
            return UNKNOWN
        start = site.unit.span(node)[0]
        found = self.project.values.of(expression, Frame(self.path, site.function, start))
        return found if found.kind != "nothing" else UNKNOWN

    def frame(self, site: Site) -> Frame:
        """Where a site's expressions are evaluated."""
        return Frame(self.path, site.function, site.start)

    def denotes(self, node: cst.BaseExpression, site: Site) -> str | None:
        """The canonical dotted name of what a node denotes outside the project: `torch.nn.DataParallel`."""
        expression = self.expression(node, site.unit)
        thing = self.project.values.thing(expression, self.frame(site)) if expression is not None else None
        return thing.dotted if thing is not None and thing.kind == "external" else None

    def related(self, path: str, line: int, column: int, message: str, width: int = 1) -> Related:
        """Another place of the project that belongs to a finding."""
        folder = self.shown[: -len(self.path)] if self.shown.endswith(self.path) else ""
        shown = self.shown if path == self.path else folder + path
        return Related(Location(shown, line, column, line, column + width), message)
