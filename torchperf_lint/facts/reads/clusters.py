"""Reads of several numbers from the device in one stretch of hot code, which one copy could fetch."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from torchperf_lint.facts.bindings.effects import names_in
from torchperf_lint.facts.element_loops.parameters import per_parameter
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.reads.finite import checks
from torchperf_lint.facts.reads.loggers import in_logger
from torchperf_lint.facts.reads.reads import (
    COPY,
    ITEM,
    NUMBER,
    Reading,
    conversion_readings,
    copy_readings,
    item_readings,
)
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.facts.syntax.enclosing import Enclosing
from torchperf_lint.facts.syntax.syntax import nodes_of
from torchperf_lint.model import Confidence

Cluster = tuple[Reading, ...]

_SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return)
_STEPS = frozenset({"backward", "step", "manual_backward"})


def numbers_read(file: SourceFile) -> tuple[Reading, ...]:
    """The hot reads of single numbers that have no closer explanation, in order."""
    return file.once(_numbers_read)


def clusters(file: SourceFile, readings: Sequence[Reading]) -> Iterator[Cluster]:
    """Two and more reads in one block of statements, with no backward pass and no optimizer step between.

    A read of what was computed with a number read before begins a cluster of its own: it cannot be fetched with it.
    """
    blocks: dict[tuple[int, int], list[Reading]] = {}
    for reading in readings:
        enclosing = file.enclosing(reading.site.function)
        statement = enclosing.statement(reading.site.call)
        if statement is not None:
            first = enclosing.suite(statement)[0]
            blocks.setdefault((reading.site.function, id(first)), []).append(reading)
    for block in blocks.values():
        for run in _runs(file, block):
            if len(run) > 1:
                yield tuple(run)


def _numbers_read(file: SourceFile) -> tuple[Reading, ...]:
    readings = (*item_readings(file), *conversion_readings(file), *copy_readings(file))
    found = [r for r in readings if _is_number(file, r)]
    checked = {check.place.expression for check in checks(file)} if len(found) > 1 else ()
    return tuple(sorted((r for r in found if r.site.call not in checked), key=lambda reading: reading.site.start))


def _is_number(file: SourceFile, reading: Reading) -> bool:
    site, enclosing = reading.site, file.enclosing(reading.site.function)
    if reading.read.repeated is not None:
        return False  # one copy before the loop does more than one copy a turn
    if reading.read.value.confidence is Confidence.POSSIBLE or not enclosing.always_evaluated(site.call):
        return False
    if not isinstance(enclosing.statement(site.call), _SIMPLE) or in_logger(file, site) or per_parameter(file, site):
        return False
    return reading.form in (ITEM, NUMBER) or (reading.form == COPY and _becomes_number(file, reading))


def _becomes_number(file: SourceFile, reading: Reading) -> bool:
    """`loss.cpu().item()`, `float(loss.cpu())`."""
    around = list(file.enclosing(reading.site.function).ancestors(reading.site.call))[:2]
    call = around[0] if isinstance(around[0], ast.Call) else around[-1]
    if not isinstance(call, ast.Call):
        return False
    if isinstance(call.func, ast.Attribute):
        return call.func.attr == "item"  # `t.cpu().int()` is a tensor still
    return isinstance(call.func, ast.Name) and call.func.id in _NUMBERS


_NUMBERS = frozenset({"float", "int", "bool"})


# -- what belongs together -----------------------------------------------------------------------------


def _runs(file: SourceFile, block: list[Reading]) -> Iterator[list[Reading]]:
    """A block's reads, parted where a step lies between, or where one is made of another."""
    run: list[Reading] = []
    made = _Made(file.enclosing(block[0].site.function))
    for reading in block:
        if run and (_step_between(file, run[-1], reading) or made.holds(reading)):
            yield run
            run = []
            made = _Made(file.enclosing(reading.site.function))
        run.append(reading)
        made.add(reading)
    if run:
        yield run


def _step_between(file: SourceFile, one: Reading, other: Reading) -> bool:
    steps = file.once(_steps).get(one.site.function, [])
    following = bisect_right(steps, one.site.start)
    return following < len(steps) and steps[following] < other.site.start


def _steps(file: SourceFile) -> dict[int, list[Position]]:
    """Function -> where it calls what ends a step, in order."""
    found: dict[int, list[Position]] = {}
    for call in file.outline.calls:
        if last_part(call.callee) in _STEPS:
            found.setdefault(call.function, []).append((call.line, call.column))
    for places in found.values():
        places.sort()
    return found


class _Made:
    """The names that one run's numbers have been put into, as the statements of its block are passed."""

    def __init__(self, enclosing: Enclosing) -> None:
        self._enclosing = enclosing
        self._sources: set[ast.stmt | None] = set()
        self._names: set[str] = set()
        self._passed = -1
        """How many statements of the block have been passed; -1 before the first reading."""
        self._within: set[int] = set()
        """The expressions that the run's reads read, and all of which they are made."""

    def add(self, reading: Reading) -> None:
        """Take a reading into the run."""
        own = self._enclosing.statement(reading.site.call)
        self._sources.add(own)
        self._within |= {id(node) for node in nodes_of(reading.operand)}
        if self._passed < 0 and own is not None:
            self._passed = self._enclosing.place_in_suite(own)

    def holds(self, reading: Reading) -> bool:
        """Whether a read's operand is computed from the numbers that the run has read, or one of these from it.

        `accuracy(pad(x, low.item())).item()`: the read inside comes first.
        """
        if id(reading.site.call) in self._within:
            return True
        own = self._enclosing.statement(reading.site.call)
        assert own is not None
        suite, place = self._enclosing.suite(own), self._enclosing.place_in_suite(own)
        for statement in suite[self._passed : place]:
            targets = _targets(statement)
            if statement in self._sources or (targets and self._names and self._names & names_in(statement)):
                self._names |= targets
        self._passed = max(self._passed, place)
        return not self._names.isdisjoint(names_in(reading.operand)) if self._names else False


def _targets(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.Assign):
        return names_in(*statement.targets)
    return names_in(statement.target) if isinstance(statement, ast.AugAssign | ast.AnnAssign) else set()
