"""Where a function reads a clock: in its own lines, or by a function of the project that does.

    def print_eta(t0):                       for step, (x, y) in enumerate(loader):
        print(time.time() - t0)                  ...
                                                 print_eta(t0)
"""

from __future__ import annotations

import ast
import re

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.copies.moves import span_of_loop
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import nodes_of
from torchperf_lint.patterns import pattern

_CLOCKS = frozenset(
    "perf_counter perf_counter_ns monotonic monotonic_ns process_time time_ns elapsed_time timeit default_timer "
    "timer tic toc".split()
)
_TIMES_OF_DAY = frozenset({"datetime.now", "datetime.datetime.now"})
"""In a helper they most often stamp what it prints."""
TIMER = pattern(r"(?:^|_)timer$|^time_|(?:^|_)timed(?:_|$)|stop_?watch|(?-i:[a-z]Timer$)", re.IGNORECASE)
"""Functions, and blocks, that measure time: `with phase_timer("train"):`."""


def is_clock(callee: str) -> bool:
    """Whether a call reads a clock."""
    return last_part(callee) in _CLOCKS or callee in ("time.time", "time") or callee in _TIMES_OF_DAY


def is_timer(block: ast.With | ast.AsyncWith) -> bool:
    """Whether a block measures time."""
    return any(TIMER.search(last_part(chain(item.context_expr).removesuffix("()"))) for item in block.items)


def clocks_of(file: SourceFile, function: int) -> list[Position]:
    """Where a function reads a clock, or calls a function of the project that does; in order."""
    project = file.project
    found = []
    for call in file.outline.calls:
        if call.function != function:
            continue
        targets = project.types.targets(file.path, function, call.callee)
        if is_clock(call.callee) or any(_takes_a_time(project, key) for key in targets):
            found.append((call.line, call.column))
    return sorted(found)


def _takes_a_time(project: Project, key: FunctionKey) -> bool:
    read = {c.callee for c in project.index.outlines[key.path].calls if c.function == key.index and is_clock(c.callee)}
    return bool(read - _TIMES_OF_DAY) or (bool(read) and _subtracts(project, key))


def _subtracts(project: Project, key: FunctionKey) -> bool:
    body = project.body(key.path)
    function = body.functions.get(key.index) if body is not None else None
    return function is not None and any(isinstance(node, ast.Sub) for node in nodes_of(function))


def is_timed(file: SourceFile, site: Site) -> bool:
    """Whether a clock is read, or a timer set, in the function of a call or in that of the loop that makes it hot."""
    around = file.enclosing(site.function).around(site.call)
    if any(isinstance(node, ast.With | ast.AsyncWith) and is_timer(node) for node in around):
        return True
    if clocks_of(file, site.function):
        return True
    if site.hot is None or site.hot.loop is None:
        return False
    path, region = site.hot.loop
    outline = file.project.index.outlines[path]
    function = outline.regions[region].function
    return any(call.function == function and is_clock(call.callee) for call in outline.calls)


def clock_behind(site: Site) -> Position | None:
    """The clock read behind the loop around a wait, where one was read before the loop, too; None for a time of day."""
    span = span_of_loop(site)
    clocks = clocks_of(site.file, site.function) if span is not None else []
    if span is None or not any(clock < span[0] for clock in clocks):
        return None
    return next((clock for clock in clocks if clock >= span[1]), None)
