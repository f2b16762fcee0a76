"""Hot reads of device values on the host: what the synchronisation rules share."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.chains import chain
from torchperf_lint.facts.hotness import Hot
from torchperf_lint.facts.source import Place, Site, SourceFile
from torchperf_lint.facts.value import ANYWHERE, Value
from torchperf_lint.model import Confidence, Severity

_NUMBERS = frozenset({"float", "int", "bool", "complex"})
_MATH = tuple(name for name in dir(math) if not name.startswith("_"))


class Read(NamedTuple):
    """A host read of a device value on a hot line."""

    value: Value
    hot: Hot
    severity: Severity
    """Info once an evaluation batch. Where the program's next action needs the value, or only a caller that asks for
    it gets there, reviewers would disagree: such a read is `possible` as well, and not shown by default."""


class Reading(NamedTuple):
    """A call that reads `operand` on the host."""

    site: Site
    operand: ast.expr
    read: Read


def hot_read(file: SourceFile, place: Place, receiver: ast.expr) -> Read | None:
    """The read that `place` is of `receiver`, or None when it is not hot or the value not (known to be) on a device."""
    hot = place.hot
    if hot is None or hot.kind == "data":
        return None
    value = on_device(file, place, receiver)
    if value is None:
        return None
    if hot.optional or decides(place):
        return Read(value.weaker(Confidence.POSSIBLE), hot, Severity.INFO)
    return Read(value, hot, Severity.INFO if hot.kind == "eval" else Severity.WARNING)


def on_device(file: SourceFile, place: Place, node: ast.expr) -> Value | None:
    """The value of an expression when reading it may wait for an accelerator, as sure as that is; else None."""
    value = file.value(node, place)
    if not value.on_device:
        return None
    if value.device != ANYWHERE:
        return value
    return value.weaker(Confidence.LIKELY) if file.project.uses_accelerator else None


def cause(place: Place) -> str:
    """The root cause that all reads of one statement share: whatever rules see them, they are one finding."""
    statement = place.file.enclosing(place.function).statement(place.expression)
    line = statement.lineno if statement is not None else place.expression.lineno
    return f"read on line {line} of function {place.function}"


def item_readings(file: SourceFile) -> Iterator[Reading]:
    """The hot `.item()` of device tensors."""
    for site in file.hot_calls("item"):
        if site.receiver is not None and not site.call.args:
            yield from _reading(file, site, site.receiver)


def conversion_readings(file: SourceFile) -> Iterator[Reading]:
    """The hot `float(t)`, `int(t)`, `t.tolist()`, `math.exp(t)` of device tensors."""
    for site in file.hot_calls(*_NUMBERS, "tolist", *_MATH):
        converted = _converted(file, site)
        if converted is not None:
            yield from (found for found in _reading(file, site, converted) if found.read.value.kind != "batch")


def _reading(file: SourceFile, site: Site, operand: ast.expr) -> Iterator[Reading]:
    read = hot_read(file, site, operand)
    if read is not None:
        yield Reading(site, operand, read)


def _converted(file: SourceFile, site: Site) -> ast.expr | None:
    """What a call converts to a Python number, or None when it converts nothing."""
    call = site.call
    if site.receiver is not None and site.record.callee.endswith(".tolist"):
        return site.receiver if not call.args else None
    if len(call.args) != 1 or call.keywords or isinstance(call.args[0], ast.Starred):
        return None
    if isinstance(call.func, ast.Name) and call.func.id in _NUMBERS:
        return call.args[0]
    return call.args[0] if (file.denotes(call.func, site) or "").startswith("math.") else None


# -- what the number is needed for ---------------------------------------------------------------------


def decides(place: Place) -> bool:
    """Whether the value decides what runs next: a branch that does more than raise, a bound, an index."""
    enclosing = place.file.enclosing(place.function)
    node: ast.AST = place.expression
    for parent in enclosing.ancestors(place.expression):
        if isinstance(parent, ast.If | ast.While) and parent.test is node:
            return not (isinstance(parent, ast.If) and only_leaves(parent))
        if isinstance(parent, ast.IfExp) and parent.test is node:
            return True
        if isinstance(parent, ast.Subscript) and parent.slice is node:
            return True
        if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id == "range":
            return True
        if isinstance(parent, ast.For | ast.AsyncFor | ast.comprehension) and parent.iter is node:
            # In a training step such a loop gathers statistics; elsewhere it lays out what runs next.
            return place.hot is not None and place.hot.kind in ("forward", "rollout")
        if isinstance(parent, ast.Assign):
            return _assigned_decides(place, parent)
        node = parent
    return False


def _assigned_decides(place: Place, assignment: ast.Assign) -> bool:
    """`n = int(mask.sum())`, and then `if n > 3:`, `x[:n]`, `torch.zeros(n)`."""
    body = place.file.project.body(place.file.path)
    assert body is not None
    decisive = body.decisive(place.function)
    parts = [e for t in assignment.targets if isinstance(t, ast.Tuple | ast.List) for e in t.elts]
    return any(chain(part) in decisive for part in [*parts, *assignment.targets])


def only_leaves(node: ast.If) -> bool:
    """Whether a branch ends in raise or exit: a safety check, not the algorithm."""
    last = node.body[-1]
    if isinstance(last, ast.Raise):
        return True
    return isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and chain(last.value.func).endswith("exit")
