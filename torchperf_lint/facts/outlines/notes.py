"""What the outline of one file is written into: regions, bindings and mentions, with where they stand."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

from torchperf_lint.facts.outlines import guards
from torchperf_lint.facts.outlines.mentions import Names, items_of
from torchperf_lint.facts.outlines.records import Binding, Mention, Outline, Position, Region, new_record
from torchperf_lint.facts.outlines.signatures import iterated
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.syntax import lines_of


class Context(NamedTuple):
    """Where code stands: numbers of its function, class and region (-1 for no class), and how deep it is nested."""

    function: int
    class_index: int
    region: int
    depth: int

    def deeper(self) -> Context:
        """That of a block inside."""
        return new_record(Context, (self.function, self.class_index, self.region, self.depth + 1))


class Notes:
    """The outline of one file while it is read."""

    def __init__(self, path: str, text: str) -> None:
        self.out = Outline(path)
        self.ascii = text.isascii()
        self.lines = [] if self.ascii else lines_of(text)
        self.names = Names(text, self.out.imports)
        self._told: set[tuple[int, str]] = set()

    def at(self, line: int, byte: int) -> Position:
        """The position of a byte of a 1-based line, which is how `ast` counts."""
        if self.ascii:
            return (line, byte + 1)
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        if text.isascii():
            return (line, byte + 1)
        return (line, len(text.encode("utf-8", "replace")[:byte].decode("utf-8", "replace")) + 1)

    def span(self, first: ast.AST, last: ast.AST) -> tuple[Position, Position]:
        """From where the first of two nodes begins to where the last ends."""
        if self.ascii:  # as nearly every file is
            start = (first.lineno, first.col_offset + 1)  # type: ignore[attr-defined]
            return start, (last.end_lineno, last.end_col_offset + 1)  # type: ignore[attr-defined]
        start = self.at(first.lineno, first.col_offset)  # type: ignore[attr-defined]
        return start, self.at(last.end_lineno, last.end_col_offset)  # type: ignore[attr-defined]

    def qualname(self, name: str, context: Context) -> str:
        """The name of what is defined somewhere, with those of the class or function around."""
        if context.class_index >= 0:
            return f"{self.out.classes[context.class_index].qualname}.{name}"
        if context.function > 0:
            return f"{self.out.functions[context.function].qualname}.{name}"
        return name

    def region(
        self, kind: str, context: Context, nodes: Sequence[ast.AST], detail: str = "", iterable: ast.expr | None = None
    ) -> Context:
        """Open a region of a kind around some nodes; gives the context of what stands in it."""
        start, end = self.span(nodes[0], nodes[-1])
        turns, over = (None, "") if iterable is None else (guards.literal_turns(iterable), iterated(iterable))
        function, class_index, parent, depth = context
        regions = self.out.regions
        regions.append(new_record(Region, (kind, parent, start, end, function, detail, turns, over, 0)))
        return new_record(Context, (function, class_index, len(regions) - 1, depth))

    def mention(self, named: tuple[str, str, str], node: ast.AST, context: Context) -> None:
        """Take note of a function that is named, if the chain that names it says which."""
        line: int = node.lineno  # type: ignore[attr-defined]
        if "?" not in named[1]:
            self.out.mentions.append(Mention(*named, line, context.region, context.function))

    def first_of(self, function: int, name: str) -> bool:
        """Whether a name, empty for what is given back, is told of a function for the first time."""
        first = (function, name) not in self._told
        self._told.add((function, name))
        return first

    def bind(self, target: ast.expr, value: str, context: Context) -> None:
        """Take note of what a target is bound to, if both are chains."""
        name = chain(target)
        if "?" not in name and "?" not in value:
            self.out.bindings.append(new_record(Binding, (context.function, name, value, target.lineno)))

    def items(self, target: ast.expr, over: ast.expr, context: Context) -> None:
        """A loop over a table of functions or objects binds one of them after the other."""
        for found in items_of(target, over):
            self.bind(*found, context)
