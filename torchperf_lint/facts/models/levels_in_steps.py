"""Short loops over a network's levels, which the loop of the steps is around.

    for _ in range(steps):
        rays, y = sampler.draw()                    # the step's batch
        found = []
        for level in range(models["cascade_level"]):
            out = models[level](rays)
            found.append(out)                       # lives for a step
            criterion(out, y).backward()
            optimizers[level].step()

By its name alone a hot loop is none: `for view in train_views:` draws a batch in each of its turns, and what is
around it is the loop of the epochs. So the batch has to come from around it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchperf_lint.facts.bindings.effects import statements
from torchperf_lint.facts.element_loops.growth import FEW_BY_NAME
from torchperf_lint.facts.hotness.loop import FEW_TURNS
from torchperf_lint.facts.outlines.guards import literal_turns
from torchperf_lint.facts.outlines.signatures import LOADER_NAME
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.enclosing import Enclosing
from torchperf_lint.facts.syntax.syntax import names_of, nodes_of
from torchperf_lint.patterns import pattern

_EPOCHS = pattern(r"(?i)epoch")


def goes_over_levels(enclosing: Enclosing, statement: ast.stmt, head: int) -> bool:
    """Whether the loop that begins in a line, around a statement, turns a few times in each step."""
    loops = list(_loops(enclosing, statement))
    at = next((number for number, loop in enumerate(loops) if loop.lineno == head), None)
    if at is None or at + 1 == len(loops):
        return False
    inner, outer = loops[at], loops[at + 1]
    if LOADER_NAME.search(ast.unparse(inner.iter)):
        return False
    turns = literal_turns(inner.iter)
    if turns is not None:
        return turns <= FEW_TURNS
    return bool(FEW_BY_NAME.search(ast.unparse(inner.iter))) and _is_given_batches(inner, outer)


def _loops(enclosing: Enclosing, statement: ast.stmt) -> Iterator[ast.For | ast.AsyncFor]:
    """The `for` loops around a statement, innermost first."""
    node: ast.AST = statement
    while node in enclosing.parents:
        node = enclosing.parents[node]
        if isinstance(node, ast.For | ast.AsyncFor):
            yield node


def _is_given_batches(inner: ast.For | ast.AsyncFor, outer: ast.For | ast.AsyncFor) -> bool:
    """Whether the loop around draws what the inner one computes with, whole: not another part of it in each turn."""
    if _EPOCHS.search(f"{ast.unparse(outer.target)} {ast.unparse(outer.iter)}"):
        return False
    counts = isinstance(outer.iter, ast.Call) and chain(outer.iter.func) == "range"
    drawn = set() if counts else names_of(outer.target)
    for statement in outer.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            drawn |= names_of(*statement.targets)
    return bool(drawn & _computed_with(inner.body))


def _computed_with(body: Sequence[ast.stmt]) -> set[str]:
    """The names that the calls of assignments are given as they are: `out = net(x)`."""
    values = (s.value for s in statements(body) if isinstance(s, ast.Assign | ast.AnnAssign) and s.value is not None)
    calls = (n for value in values for n in nodes_of(value) if isinstance(n, ast.Call))
    return {argument.id for call in calls for argument in call.args if isinstance(argument, ast.Name)}
