"""Calls whose result is kept for the next time: in functions that run once, and where a test looks for it first."""

from __future__ import annotations

import ast
import re

from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.patterns import pattern

_KEEPS = pattern(r"cache|once|memo|singleton|lazy", re.IGNORECASE)
"""Decorators that run a function once, or once for an argument."""
_KEEPERS = frozenset({"setdefault", "setattr", "append"})
"""Functions that put what they are given where it stays: `cache.setdefault(key, torch.compile(f))`."""


def is_kept(file: SourceFile, call: ast.Call, function: int) -> bool:
    """Whether a call's result is kept where a test looks first: `if self._step is None: self._step = ...`."""
    if runs_once(file, function):
        return True
    enclosing = file.enclosing(function)
    parent = enclosing.parents.get(call)
    if isinstance(parent, ast.BoolOp) and call is not parent.values[0]:
        return True
    statement = enclosing.statement(call)
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    outlives = [t for t in targets if isinstance(t, ast.Attribute | ast.Subscript)]
    if isinstance(statement, ast.Assign | ast.AnnAssign) and outlives:
        return any(isinstance(around, ast.If | ast.Try) for around in enclosing.around(statement))
    if any(isinstance(t, ast.Name) and _is_put_away(file, function, t.id) for t in targets):
        return True
    return isinstance(parent, ast.Call) and call in parent.args and last_part(chain(parent.func)) in _KEEPERS


def runs_once(file: SourceFile, function: int) -> bool:
    """Whether a function, or one around it, is decorated to run once."""
    while function > 0:
        record = file.outline.functions[function]
        if any(_KEEPS.search(decorator) for decorator in record.decorators):
            return True
        function = record.parent
    return False


def _is_put_away(file: SourceFile, function: int, name: str) -> bool:
    """Whether a name belongs to a scope around, or what it stands for is stored: `globals()[key] = wraps(f)(fast)`."""
    for node in file.enclosing(function).parents:
        if isinstance(node, ast.Global | ast.Nonlocal) and name in node.names:
            return True
        stored = isinstance(node, ast.Assign) and any(
            isinstance(t, ast.Attribute | ast.Subscript) for t in node.targets
        )
        if stored and any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node)):
            return True
    return False
