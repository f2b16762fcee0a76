"""Branches that only count how often an answer holds, or add something up where it does, for who reads the statistics.

    if norm.item() > limit:                          if predicted[i] == wanted[i]:
        clipped += 1                                     right[k] += 1

Counting needs no answer on the host: a sum of truths on the device counts as well, and is read where it is shown. That
holds where the counter decides nothing: a step counter or a patience that a test asks is the algorithm's own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.outlines.complaints import first_name, only_says
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.patterns import pattern

_SHOWS = pattern(
    r"^(?:print|info|debug|warning|log\w*|write\w*|add_scalars?|set_(?:postfix|description)(?:_str)?|format|str|float|int|"
    r"round|append|update|tensor|as_tensor|len|min|max|mean|sum)$"
)
"""Functions that a count is shown by, kept by, or computed with on its way there."""


def is_only_counted(place: Place) -> bool:
    """Whether what a place reads is asked by the test of a branch that does nothing but count."""
    node: ast.AST = place.expression
    for parent in place.file.enclosing(place.function).ancestors(node):
        if isinstance(parent, ast.If):
            return node is parent.test and only_counts(place, parent)
        if not isinstance(parent, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.BinOp):
            return False
        node = parent
    return False


def only_counts(place: Place, branch: ast.If) -> bool:
    """Whether a branch does nothing but add to counters, of which nothing but what is shown is made."""
    if branch.orelse and not _counts(branch.orelse):
        return False
    if not _counts(branch.body):
        return False
    added = [s.target for s in (*branch.body, *branch.orelse) if isinstance(s, ast.AugAssign)]
    return all(_is_statistic(place, target) for target in added)


def _counts(block: Sequence[ast.stmt]) -> bool:
    """Whether a block adds numbers to something, and does nothing else but say so."""
    added = [s for s in block if isinstance(s, ast.AugAssign) and _adds(s)]
    return bool(added) and all(s in added or only_says(s) for s in block)


def _adds(statement: ast.AugAssign) -> bool:
    """`n += 1`, `total += x.item()`: no call but reads, whose result a mask would weigh as well."""
    calls = (n for n in ast.walk(statement.value) if isinstance(n, ast.Call))
    return isinstance(statement.op, ast.Add) and all(last_part(chain(call.func)) in _READS for call in calls)


_READS = frozenset({"item", "float", "int", "sum", "mean", "len", "size", "numel", "detach"})


def _is_statistic(place: Place, target: ast.expr) -> bool:
    """Whether a counter is the function's own, and decides nothing there."""
    name = first_name(target)
    body = place.file.project.body(place.file.path)
    if body is None or not name or isinstance(target, ast.Attribute) or _is_shared(place, name):
        return False
    if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Attribute):
        return False
    if name in body.decisive(place.function):
        return False
    around = place.file.enclosing(place.function)
    reads = body.reads(place.function, name)
    return all(read in around.parents and _is_shown(around.around(read), read) for read in reads)


def _is_shared(place: Place, name: str) -> bool:
    """Whether a name is that of the file, or of a function around."""
    outer = place.file.enclosing(place.function).of_kinds((ast.Global, ast.Nonlocal))
    return any(name in node.names for node in outer if isinstance(node, ast.Global | ast.Nonlocal))


def _is_shown(above: Iterator[ast.AST], read: ast.AST) -> bool:
    """Whether a read of a counter goes into arithmetic, a text, a log or what is given back: nobody acts by it."""
    node: ast.AST = read
    for parent in above:
        if isinstance(parent, ast.Subscript) and parent.slice is node:
            return False
        if isinstance(parent, ast.Call) and node is not parent.func:
            return _SHOWS.search(last_part(chain(parent.func))) is not None
        if isinstance(parent, _ASKS):
            return False
        if isinstance(parent, ast.stmt):
            return True
        node = parent
    return True


_ASKS = (ast.Compare, ast.BoolOp, ast.comprehension, ast.For, ast.While, ast.If)
