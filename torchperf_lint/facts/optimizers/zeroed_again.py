"""Gradients that are dropped twice before anything is added to them.

model.zero_grad()            for x, y in loader:
optimizer.zero_grad()            optimizer.zero_grad()
loss.backward()                  ...
                                 optimizer.step()
                                 optimizer.zero_grad()
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.patterns import pattern

_ADDS = pattern(
    r"backward|\bstep\w*\(|\w+_step\(|autograd|closure|train\w*\(|optimi[sz]e\w*\(|update\w*\(|learn\w*\(|fit\w*\(|"
    r"accumulate|\.grad\b|\bcontinue\b",
    re.IGNORECASE,
)
"""What may compute gradients, or ask whether there are any, in the text of a statement."""


class Again(NamedTuple):
    """A second `zero_grad`."""

    site: Site
    before: ast.Call
    """The first, which has done it."""
    around: bool
    """Whether the first is at the end of the turn before, or the other way round."""


def zeroed_again(file: SourceFile) -> Iterator[Again]:
    """The calls of `zero_grad` in training steps that find nothing to drop."""
    sites = [s for s in file.hot_calls("zero_grad") if s.hot is not None and s.hot.kind == "step" and _plain(file, s)]
    for site in sites:
        statement = file.enclosing(site.function).statement(site.call)
        suite = file.enclosing(site.function).suite(statement) if statement is not None else ()
        others = {id(file.enclosing(o.function).statement(o.call)): o for o in sites if o is not site}
        if statement is None or statement not in suite:
            continue
        place = suite.index(statement)
        first = _first(file, site, suite[:place][::-1], others)
        if first is not None:
            yield Again(site, first.call, False)
            continue
        loop = file.enclosing(site.function).parents.get(statement)
        if isinstance(loop, ast.For | ast.While) and suite is loop.body and not _adds(suite[place + 1 :]):
            turn = _first(file, site, suite[:place], others)
            if turn is not None and not _skips(loop):
                yield Again(site, turn.call, True)


def _plain(file: SourceFile, site: Site) -> bool:
    """A statement of its own, on something with a name."""
    statement = file.enclosing(site.function).statement(site.call)
    return (
        isinstance(statement, ast.Expr)
        and statement.value is site.call
        and isinstance(site.receiver, ast.Name | ast.Attribute)
        and not site.record.callee.startswith("super()")
    )


def _first(file: SourceFile, site: Site, nearby: Sequence[ast.stmt], others: dict[int, Site]) -> Site | None:
    """The other call that has dropped the same gradients, going from a call until something may have added to them."""
    for statement in nearby:
        other = others.get(id(statement))
        if other is not None and _same(file, site, other):
            return other
        if _adds([statement]) and other is None:
            return None
    return None


def _adds(statements: Sequence[ast.stmt]) -> bool:
    return any(_ADDS.search(ast.unparse(statement)) for statement in statements)


def _skips(loop: ast.For | ast.While) -> bool:
    """Whether a turn may end before its last statement."""
    return any(isinstance(node, ast.Continue) for node in ast.walk(loop))


def _same(file: SourceFile, site: Site, other: Site) -> bool:
    """Whether two calls drop the same gradients: of one thing, or of a model and of the optimizer of all of it."""
    assert site.receiver is not None
    assert other.receiver is not None
    one, two = chain(site.receiver), chain(other.receiver)
    if one == two:
        return ast.unparse(site.call) == ast.unparse(other.call)
    return _owns_all(file, site, one, two) or _owns_all(file, other, two, one)


def _owns_all(file: SourceFile, site: Site, optimizer: str, model: str) -> bool:
    """Whether an optimizer is made once, of all parameters of a model: `optimizer = SGD(model.parameters(), 0.1)`."""
    functions = file.outline.functions
    own = functions[site.function].class_index if optimizer.startswith("self.") else -1
    made = []
    for binding in file.outline.bindings:
        alike = functions[binding.function].class_index == own >= 0 or binding.function in (site.function, 0)
        if alike and binding.target == optimizer:
            made.append(binding)
    calls = [
        call
        for call in file.outline.calls
        if call.callee == f"{model}.parameters"
        and any(b.line == call.line and b.function == call.function for b in made)
    ]
    if len(made) != 1 or len(calls) != 1 or not made[0].value.endswith("()"):
        return False
    body = file.project.body(file.path)
    node = body.node_of(calls[0]) if body is not None else None
    parent = file.enclosing(calls[0].function).parents.get(node) if node is not None else None
    return isinstance(parent, ast.Call) and bool(parent.args) and parent.args[0] is node
