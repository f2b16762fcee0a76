"""Modules that a loop calls for the rows of one tensor, each as a batch of one.

for i in range(len(x)):
    out.append(model(x[i : i + 1]))
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple, cast

from torchperf_lint.facts.element_loops.carried import carried
from torchperf_lint.facts.element_loops.ragged import Raggedness
from torchperf_lint.facts.element_loops.single import is_length, is_one_tensor, is_tensor
from torchperf_lint.facts.element_loops.single_rows import RowLoop, SingleRows
from torchperf_lint.facts.element_loops.turns import HANDFUL, REDUCES, Turn
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import Spot, hot_functions, spot_at
from torchperf_lint.facts.hotness.loop import FEW_TURNS
from torchperf_lint.facts.outlines.guards import literal_turns
from torchperf_lint.facts.syntax.arguments import arguments
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import children_of, names_of, nodes_of
from torchperf_lint.facts.values.value import Value
from torchperf_lint.patterns import pattern

_LOOPS = (ast.For, ast.ListComp, ast.GeneratorExp)
_BRANCHES = (ast.If, ast.IfExp, ast.While, ast.Try, ast.For, ast.BoolOp, ast.Lambda, ast.FunctionDef, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LEAVES = (ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.Await)
_CARRIES = pattern(r"past|cache|incremental|memory|stream|recurr|rnn|lstm|gru|cell(?:s|_|$)", re.IGNORECASE)
"""Modules and arguments that hand something from one call to the next."""
_LARGE = pattern(r"(?:^|[._])(?:vae|unet|movq|llm|\w*diffusion|pipe|pipeline|tiled?)(?:_|$)", re.IGNORECASE)
"""Modules of which one sample fills a device, and that take them one by one for that reason."""
_TIMES = pattern(r"^(?:t|ts|tt|time\w*|steps?|frames?|tokens?|pos|positions?)$", re.IGNORECASE)
"""Variables of loops over times, not over samples."""
_BATCH_SIZE = pattern(r"^(?:b|n|bs|bsz|batch_?size|num_samples|n_samples|batch)$", re.IGNORECASE)
_MEMORY = pattern(r"memory|\bOOM\b|\bV?RAM\b", re.IGNORECASE)
_TRAINS = frozenset("backward manual_backward step grad zero_grad".split())
"""A gradient for each sample, or a step after each: one call for all gives another result."""


class PerSample(NamedTuple):
    """A module called with one row of a tensor a turn."""

    call: Spot
    rows: ast.expr
    """The tensor."""
    value: Value
    """That tensor."""
    loop: RowLoop


def per_sample_calls(file: SourceFile) -> tuple[PerSample, ...]:
    """The hot calls of modules with one row of a tensor a turn, in order."""
    return file.once(_per_sample_calls)


def _per_sample_calls(file: SourceFile) -> tuple[PerSample, ...]:
    return tuple(_found(file)) if file.project.body(file.path) is not None else ()


def _found(file: SourceFile) -> Iterator[PerSample]:
    for function in hot_functions(file):
        for node in file.enclosing(function).of_kinds(_LOOPS):
            loop = cast("RowLoop", node)
            rows = SingleRows(loop)
            # By syntax alone: what values are is asked of the few that are left.
            calls = [call for call in _every_turn(loop) if any(rows.rows_of(a) is not None for a in call.args)]
            if calls and _turns_often(rows) and not _goes_on(loop, rows):
                for call in calls:
                    spot = spot_at(file, call, function)
                    found = _per_sample(file, spot, loop, rows) if spot is not None else None
                    if found is not None:
                        yield found


def _per_sample(file: SourceFile, spot: Spot, loop: RowLoop, rows: SingleRows) -> PerSample | None:
    call = cast("ast.Call", spot.expression)
    if spot.hot.kind == "data" or spot.hot.optional or file.value(call.func, spot).kind != "module":
        return None
    name = chain(call.func)
    if REDUCES.search(last_part(name)):
        return None  # a few operations: TPL651 knows how to write them for all rows
    if _CARRIES.search(name) or _LARGE.search(name) or _spares_memory(file, loop, call):
        return None
    taken = [_taken(file, spot, rows, given) for given in arguments(call)]
    if None in taken or any(_CARRIES.search(k.arg or "past") for k in call.keywords):
        return None
    whole = next(part for part in taken if isinstance(part, ast.expr))
    if rows.bound is not None and not _counts_samples(file, spot, rows.bound):
        return None
    value = file.value(whole, spot)
    if not value.on_device and not file.project.uses_accelerator:
        return None
    if Raggedness(Turn(file, spot, loop, rows.target)).why() is not None:
        return None
    return PerSample(spot, whole, value, loop)


def _taken(file: SourceFile, spot: Spot, rows: SingleRows, given: ast.expr) -> ast.expr | bool | None:
    """The tensor of which an argument is one row; True for what is the same each turn, None for all else."""
    whole = rows.rows_of(given)
    if whole is not None:
        known = _is_fixed(rows, whole) and is_tensor(file, spot, whole) and is_one_tensor(file, spot, whole)
        return whole if known else None
    return True if not isinstance(given, ast.Starred) and _is_fixed(rows, given) else None


def _is_fixed(rows: SingleRows, node: ast.expr) -> bool:
    """Whether an expression is the same in every turn."""
    parts = nodes_of(node)
    if any(isinstance(part, ast.Call | ast.Await | ast.NamedExpr) for part in parts):
        return False
    return not any(isinstance(part, ast.Name) and part.id in rows.bound_names for part in parts)


def _every_turn(loop: RowLoop) -> Iterator[ast.Call]:
    """The calls that each turn makes once: not those in branches and in loops of their own."""
    if not isinstance(loop, ast.For) and (len(loop.generators) > 1 or loop.generators[0].ifs):
        return
    stack: list[ast.AST] = [*loop.body] if isinstance(loop, ast.For) else [loop.elt]
    while stack:
        node = stack.pop()
        if isinstance(node, (*_BRANCHES, *_COMPREHENSIONS)):
            continue
        if isinstance(node, ast.Call):
            yield node
        stack += children_of(node)


def _turns_often(rows: SingleRows) -> bool:
    turns = literal_turns(rows.iterated)
    variables = names_of(rows.target)
    return (turns is None or turns > FEW_TURNS) and not any(HANDFUL.search(n) or _TIMES.match(n) for n in variables)


def _goes_on(loop: RowLoop, rows: SingleRows) -> bool:
    """Whether a turn needs the one before it, may end the loop, or takes a step of its own."""
    if any(isinstance(node, _LEAVES) for node in rows.nodes):
        return True
    if any(isinstance(node, ast.Call) and last_part(chain(node.func)) in _TRAINS for node in rows.nodes):
        return True
    return isinstance(loop, ast.For) and next(carried(loop.body), None) is not None


def _counts_samples(file: SourceFile, spot: Spot, bound: ast.expr) -> bool:
    """Whether a loop goes over all rows: `len(x)`, `x.shape[0]`, `batch_size`."""
    return is_length(file, spot, bound) or _BATCH_SIZE.match(last_part(chain(bound))) is not None


def _spares_memory(file: SourceFile, loop: RowLoop, call: ast.Call) -> bool:
    """Whether a comment at the loop says that samples go one by one for the memory they need."""
    lines = file.lines[max(loop.lineno - 4, 0) : call.end_lineno]
    return any("#" in line and _MEMORY.search(line.partition("#")[2]) for line in lines)
