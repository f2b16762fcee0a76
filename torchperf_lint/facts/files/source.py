"""SourceFile: what a rule sees of one file.

Candidates come from the outline and are judged by values; libcst parses only functions whose statements are edited, and
the statements with f-strings that hold a surviving candidate, for exact spans.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol, TypeVar, cast

from torchperf_lint.errors import CannotCheck
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.default_lambdas import written_in
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.calling_loops import calling_loops
from torchperf_lint.facts.files.concrete import cst
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.suppressions import Suppressions, parse
from torchperf_lint.facts.files.tree import TooDeepToLocate, Unit, outermost, unit_of, unit_of_lines
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.outlines.records import Call, Outline, Position
from torchperf_lint.facts.roles.cold import SETS_UP_OR_TELLS
from torchperf_lint.facts.syntax.arguments import keyword
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.facts.syntax.enclosing import Enclosing
from torchperf_lint.facts.syntax.syntax import SIMPLE
from torchperf_lint.facts.syntax.text import NEWLINE, split_lines
from torchperf_lint.facts.syntax.text_parts import TextParts, Vocabulary
from torchperf_lint.facts.values.value import UNKNOWN, Frame, Value
from torchperf_lint.model import Confidence, Location, Related
from torchperf_lint.patterns import pattern

BRIEF = 40
T = TypeVar("T")
_NEWLINE = pattern(NEWLINE)
_PLACE = operator.attrgetter("line", "column", "callee")


class Place(Protocol):
    """A piece of code that a rule asks about: a call (Site) or any other expression or statement (Spot)."""

    @property
    def file(self) -> SourceFile:
        """The file it is in."""

    @property
    def expression(self) -> ast.expr | ast.stmt:
        """Its syntax."""

    @property
    def function(self) -> int:
        """The function it is in, by its number in the outline."""

    @property
    def hot(self) -> Hot | None:
        """Why it is hot; None when it is not."""

    @property
    def frame(self) -> Frame:
        """Where its expressions are evaluated."""

    @property
    def location(self) -> Location:
        """Its exact span."""


@dataclass(frozen=True)
class Site:
    """A call in a file, and why it is hot (None when it is not)."""

    file: SourceFile
    record: Call
    call: ast.Call
    hot: Hot | None

    @property
    def expression(self) -> ast.expr | ast.stmt:
        """The call itself."""
        return self.call

    @property
    def function(self) -> int:
        """The function the call is in, by its number in the outline."""
        return self.record.function

    @property
    def start(self) -> Position:
        """1-based line and column."""
        return (self.record.line, self.record.column)

    @property
    def frame(self) -> Frame:
        """Where the call's expressions are evaluated."""
        return Frame(self.file.path, self.record.function, self.start)

    @property
    def receiver(self) -> ast.expr | None:
        """What the method is called on; None for a call of a plain name."""
        return self.call.func.value if isinstance(self.call.func, ast.Attribute) else None

    @cached_property
    def unit(self) -> Unit:
        """The libcst tree of the call's statement or else of its function. Raises CannotCheck."""
        outline, file = self.file.outline, self.file
        number = outermost(outline, written_in(outline, self.record.region, self.record.function))
        statement = file.enclosing(self.record.function).statement(self.call)
        return (statement and file.statement_unit(number, statement)) or file.unit(number)

    @property
    def node(self) -> cst.Call:
        """The call in its libcst tree. Raises CannotCheck."""
        name = last_part(self.record.callee)
        try:
            found = self.unit.call_at(self.start, name)
        except TooDeepToLocate:
            found = self._by_order(name)
        if found is None:
            raise CannotCheck("libcst and ast disagree about a call", self.record.line)
        return found

    def _by_order(self, name: str) -> cst.Call | None:
        """The call found by its order among those of the same name, where libcst cannot say where anything stands."""
        outline = self.file.outline
        number = outermost(outline, self.record.function)
        same = [c for c in outline.calls if last_part(c.callee) == name and outermost(outline, c.function) == number]
        same.sort(key=lambda call: (call.line, call.column, -len(call.callee)))
        nodes = self.file.unit(number).calls_named(name)
        return nodes[same.index(self.record)] if len(nodes) == len(same) else None

    @property
    def location(self) -> Location:
        """The exact span of the call."""
        around = self.file.enclosing(self.record.function).ancestors(self.call)
        # Before Python 3.12 `ast` is not always right about what stands in an f-string.
        asked = any(isinstance(node, ast.JoinedStr) for node in around)
        start, end = self._located() if asked else self.file.span(self.call)
        return Location(self.file.shown, *start, *end)

    def _located(self) -> tuple[Position, Position]:
        try:
            return self.unit.span(self.node)
        except TooDeepToLocate:
            return self.file.span(self.call)

    def keyword(self, name: str) -> ast.expr | None:
        """The value of a keyword argument."""
        return keyword(self.call, name)


class SourceFile:
    """One file under the eyes of the rules; everything is worked out on first need."""

    def __init__(
        self,
        project: Project,
        path: str,
        text: str,
        shown: str | None = None,
        honour_suppressions: bool = True,
        weakest: Confidence = Confidence.POSSIBLE,
    ) -> None:
        self.project = project
        self.path = path
        """Relative to the project's root, POSIX."""
        self.shown = shown or path
        """As reports show it."""
        self.text = text
        self.weakest = weakest
        """The least confidence that will be shown."""
        self._honour_suppressions = honour_suppressions
        self._units: dict[int, Unit] = {}
        self._statements: dict[int, Unit] = {}
        """1-based first line -> the unit of the simple statement there."""
        self._enclosing: dict[int, Enclosing] = {}
        self._answers: dict[object, object] = {}
        self._mentioned: dict[str, bool] = {}

    @property
    def outline(self) -> Outline:
        """The file's outline."""
        return self.project.index.outlines[self.path]

    @cached_property
    def lines(self) -> list[str]:
        """The file's lines without their ends."""
        return split_lines(self.text)

    @cached_property
    def suppressions(self) -> Suppressions:
        """What the comments of the file silence; nothing where the host does not honour them."""
        return parse(self.text) if self._honour_suppressions else Suppressions()

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(newline.end() for newline in _NEWLINE.finditer(self.text))]

    def offset(self, at: Position) -> int:
        """The 0-based offset, in code points of the text, of a 1-based line and column."""
        return self._starts[at[0] - 1] + at[1] - 1

    def mentions(self, triggers: tuple[str, ...]) -> bool:
        """Whether the text holds one of the triggers at all."""
        known = self._mentioned
        for trigger in triggers:
            if trigger not in known:
                known[trigger] = trigger in self._parts
            if known[trigger]:
                return True
        return False

    def may_mention(self, triggers: tuple[str, ...]) -> frozenset[str]:
        """Those of many triggers that the text may hold, by their words: quick to tell of all rules' at once."""
        likely = self._parts.likely(triggers)
        self._mentioned |= {trigger: False for trigger in triggers if trigger not in likely}
        return likely

    @cached_property
    def _parts(self) -> TextParts:
        return TextParts(self.text, self.project.once(_vocabulary))

    def once(self, ask: Callable[[SourceFile], T]) -> T:
        """What a question has for an answer about this file; asked once, however many rules want to know."""
        if ask not in self._answers:
            self._answers[ask] = ask(self)
        return cast("T", self._answers[ask])

    # -- candidates --------------------------------------------------------------------------------

    @cached_property
    def _calls_by_name(self) -> dict[str, list[Call]]:
        table: dict[str, list[Call]] = {}
        for call in self.outline.calls:
            table.setdefault(last_part(call.callee), []).append(call)
        return table

    def hot_calls(self, *names: str) -> Iterator[Site]:
        """The hot calls of functions and methods with one of these names, in order."""
        for record in self.calls_named(*names):
            hot = self.project.hotness.of_region(self.path, record.region)
            if hot is not None and (site := self._site(record, hot)) is not None:
                yield site

    def served_calls(self, *names: str) -> Iterator[Site]:
        """The calls with one of these names that run once for each request, in code that is not known to be hot."""
        hotness = self.project.hotness
        for record in self.calls_named(*names):
            if hotness.of_region(self.path, record.region) is None:
                hot = hotness.served.at(self.path, record.region)
                if hot is not None and (site := self._site(record, hot)) is not None:
                    yield site

    def looped_calls(self, *names: str) -> Iterator[Site]:
        """The calls with one of these names that a loop repeats, in code that is not known to be hot."""
        hotness, functions = self.project.hotness, self.outline.functions
        for record in self.calls_named(*names):
            if SETS_UP_OR_TELLS.search(functions[record.function].name):
                continue
            if hotness.around.turns(self.path, record.region) and hotness.of_region(self.path, record.region) is None:
                site = self._site(record, None)
                if site is not None:
                    yield site

    def calls_of(self, *dotted: str) -> Iterator[Site]:
        """The calls of external functions and classes with these canonical names, however they were imported."""
        imports = self.outline.imports.items()
        lasts = {name.rpartition(".")[2] for name in dotted}
        names = lasts | {bound for bound, full in imports if full.rpartition(".")[2] in lasts}
        yield from self.calls_among(record for record in self.calls_named(*names) if self._is_of(record, dotted))

    def _is_of(self, record: Call, dotted: tuple[str, ...]) -> bool:
        thing = self.project.types.thing(self.path, record.function, record.callee)
        return thing is not None and thing.kind == "external" and thing.dotted in dotted

    def calls_among(self, records: Iterable[Call]) -> Iterator[Site]:
        """The calls that some of the outline's records stand for, in their order."""
        for record in records:
            site = self._site(record, self.project.hotness.of_region(self.path, record.region))
            if site is not None:
                yield site

    @property
    def called_names(self) -> Iterable[str]:
        """The last names of all that the file calls, each once."""
        return self._calls_by_name.keys()

    def calls_named(self, *names: str) -> list[Call]:
        """The calls of functions and methods with one of these names, in order, wherever they stand."""
        found = [call for name in names for call in self._calls_by_name.get(name, ())]
        return sorted(found, key=_PLACE) if len(found) > 1 else found

    def _site(self, record: Call, hot: Hot | None) -> Site | None:
        call = self._body.node_of(record) if self._body is not None else None
        return Site(self, record, call, hot) if call is not None else None

    @cached_property
    def _body(self) -> Body | None:
        """The file's bindings: asked for with every place, and so kept at hand."""
        return self.project.body(self.path)

    def unit(self, number: int) -> Unit:
        """The parsed unit of an outermost function, or of the module (0). Raises CannotCheck."""
        if number not in self._units:
            self._units[number] = unit_of(self.outline, self.lines, number)
        return self._units[number]

    def statement_unit(self, number: int, statement: ast.stmt) -> Unit | None:
        """The parsed unit of a simple statement that has its lines to itself; None for others.

        A statement is read in far less time than the function around it, which is taken if it is there already.
        `number` is the outermost function.
        """
        if number in self._units or not isinstance(statement, SIMPLE):
            return None
        (line, column), (end_line, end_column) = self.span(statement)
        if self.lines[line - 1][: column - 1].strip() or self.lines[end_line - 1][end_column - 1 :].strip():
            return None
        if line not in self._statements:
            try:
                self._statements[line] = unit_of_lines(self.lines[line - 1 : end_line], line)
            except CannotCheck:  # as a part of its function it may be code all the same
                return None
        return self._statements[line]

    def enclosing(self, function: int) -> Enclosing:
        """What stands around the expressions of a function."""
        if function not in self._enclosing:
            assert self._body is not None
            self._enclosing[function] = Enclosing(self._body.functions[function])
        return self._enclosing[function]

    # -- questions about an expression ---------------------------------------------------------------

    def value(self, node: ast.expr, place: Place) -> Value:
        """What an expression within a place is, where it lives, and why."""
        # Of a `while` test the place is the end of the loop's body, which stands after it.
        frame, at = place.frame, self._at(node)
        found = self.project.values.of(node, frame.placed(at) if at > frame.at else frame)
        return found if found.kind != "nothing" else UNKNOWN

    def denotes(self, node: ast.expr, place: Place) -> str | None:
        """The canonical dotted name of what a node denotes outside the project: `torch.nn.DataParallel`."""
        thing = self.project.values.thing(node, place.frame)
        return thing.dotted if thing is not None and thing.kind == "external" else None

    def _at(self, node: ast.expr | ast.stmt, end: bool = False) -> Position:
        assert self._body is not None
        return self._body.at(node, end)

    def span(self, node: ast.expr | ast.stmt) -> tuple[Position, Position]:
        """Start and end of an expression or statement, 1-based, the end exclusive."""
        return self._at(node), self._at(node, end=True)

    def start(self, node: ast.expr | ast.stmt) -> Position:
        """Where an expression or statement begins, 1-based."""
        return self._at(node)

    def source(self, node: ast.expr | ast.stmt) -> str:
        """The text of an expression or statement as it stands in the file."""
        (line, column), (end_line, end_column) = self._at(node), self._at(node, end=True)
        if line == end_line:
            return self.lines[line - 1][column - 1 : end_column - 1]
        first, last = self.lines[line - 1][column - 1 :], self.lines[end_line - 1][: end_column - 1]
        return "\n".join([first, *self.lines[line : end_line - 1], last])

    def brief(self, node: ast.expr | ast.stmt) -> str:
        """The text of an expression or statement on one line, cut where a message would overflow."""
        text = " ".join(self.source(node).split())
        return text if len(text) <= BRIEF else text[: BRIEF - 1] + "…"

    def related(self, path: str, line: int, column: int, message: str, width: int = 1) -> Related:
        """Another place of the project that belongs to a finding."""
        return Related(Location(self.shown_of(path), line, column, line, column + width), message)

    def called_often(self, function: int, hot: Hot | None) -> list[Related]:
        """Where loops call one of the file's functions, if that is why its code is hot."""
        if hot is None:
            return []
        found = calling_loops(self.project.hotness, FunctionKey(self.path, function), hot)
        told = ((site.path, site.call, f"calls it {often}") for site, often in found)
        return [self.related(path, call.line, call.column, text, len(call.callee)) for path, call, text in told]

    def shown_of(self, path: str) -> str:
        """How reports call a file of the project: relative to the working directory when inside it, else absolute."""
        if self.shown.endswith(self.path):
            return self.shown[: -len(self.path)] + path
        # The working directory is below the project's root.
        below = self.path.removesuffix(self.shown)
        if path.startswith(below):
            return path.removeprefix(below)
        return Path.cwd().as_posix().removesuffix(f"/{below.rstrip('/')}") + f"/{path}"


def _vocabulary(_: Project) -> Vocabulary:
    return Vocabulary()
