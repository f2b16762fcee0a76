"""Hot code that is no call: tests, subscripts, f-strings, found by a walk over the hot functions of a file."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.model import Confidence, Location


class Spot(NamedTuple):
    """An expression or statement in hot code."""

    file: SourceFile
    expression: ast.expr | ast.stmt
    function: int
    hot: Hot
    start: Position
    """Where its parts are evaluated; of a `while` test, the end of the loop's body."""

    @property
    def frame(self) -> Frame:
        """Where its expressions are evaluated."""
        return Frame(self.file.path, self.function, self.start)

    @property
    def location(self) -> Location:
        """The exact span."""
        start, end = self.file.span(self.expression)
        return Location(self.file.shown, *start, *end)

    def at(self, expression: ast.expr | ast.stmt) -> Spot:
        """Another expression of the same code, evaluated in the same place."""
        return Spot(self.file, expression, self.function, self.hot, self.start)


def hot_nodes(
    file: SourceFile, *kinds: type[ast.AST], where: Callable[[Any], object] | None = None
) -> Iterator[Spot]:
    """The hot expressions and statements of these kinds, in order; of a `while`, whose test is hot as its body is.

    `where`: what a node has to look like, asked before whether it is hot, which takes longer.
    """
    functions = hot_functions(file)
    body = file.project.body(file.path) if functions else None
    if body is None:
        return
    path, hot_at = file.path, file.project.hotness.at
    for function in functions:
        around = file.enclosing(function)
        for node in filter(where, around.of_kinds(kinds)):
            while_ = around.while_tests.get(node)
            inside = body.at(node if while_ is None else while_.body[-1])  # type: ignore[arg-type]
            hot = hot_at(path, inside)
            if hot is not None:
                yield Spot(file, node, function, hot, inside)  # type: ignore[arg-type]


def looped_nodes(file: SourceFile, kinds: tuple[type[ast.AST], ...], functions: Iterable[int]) -> Iterator[Spot]:
    """The expressions and statements of these kinds that a loop repeats in functions that are not known to be hot.

    Why such a spot matters is not known yet: whoever finds a reason puts it in.
    """
    hotness, regions = file.project.hotness, file.outline.regions
    for function in functions:
        for node in file.enclosing(function).of_kinds(kinds):
            assert isinstance(node, ast.expr | ast.stmt)
            start = file.start(node)
            region = hotness.innermost(file.path, start)
            if regions[region].function == function and hotness.around.turns(file.path, region):
                yield Spot(file, node, function, NOT_KNOWN, start)


NOT_KNOWN = Hot("elements", "", "", Confidence.POSSIBLE, "", 0)
"""Of code that is looked at before there is a reason to call it hot."""


def hot_functions(file: SourceFile) -> list[int]:
    """The functions of a file that are hot or hold a hot loop; 0 is the module."""
    return file.once(_hot_functions)


def _hot_functions(file: SourceFile) -> list[int]:
    hotness, outline = file.project.hotness, file.outline
    numbers = range(1, len(outline.functions))
    found = {number for number in numbers if FunctionKey(file.path, number) in hotness.functions}
    for number, region in enumerate(outline.regions):
        if region.kind == "loop" and region.function not in found and hotness.loops.at(file.path, number) is not None:
            found.add(region.function)
    return sorted(found)


def spot_at(file: SourceFile, node: ast.AST, function: int) -> Spot | None:
    """A node of a function, or None when it is not hot."""
    assert isinstance(node, (ast.expr, ast.stmt))
    hotness = file.project.hotness
    while_ = file.enclosing(function).while_tests.get(node)
    inside = file.start(while_.body[-1] if while_ is not None else node)
    hot = hotness.at(file.path, inside)
    return Spot(file, node, function, hot, inside) if hot is not None else None
