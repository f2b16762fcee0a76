"""Moves that a test decides about, of what was made before it: made on the device, it has to be made by the same test.

    ones = torch.ones(n, 1)
    if h.is_cuda:                       # device=h.device, and not "cuda", which breaks what runs on the host
        ones = ones.cuda()
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_none

_SHORT = 40


def device_by_test(site: Site, made: ast.Call) -> str | None:
    """What to write for the device of what a call has made and `.cuda()` moves in a branch; None where none decides."""
    if site.call.args or site.call.keywords:
        return None
    parents = site.file.enclosing(site.record.function).parents
    node: ast.AST = site.call
    while (parent := parents.get(node)) is not None:
        if isinstance(parent, ast.If | ast.IfExp):
            branch = parent.body if isinstance(parent.body, list) else [parent.body]
            if any(made is node for statement in branch for node in ast.walk(statement)):
                return None
            inside = any(node is statement for statement in branch)
            if not inside or not _asks_if_missing(parent.test):
                return _told(parent.test) if inside else None
        node = parent
    return None


def _asks_if_missing(test: ast.expr) -> bool:
    """`if mask is not None:` around the move says nothing of where it goes: the test around that may."""
    return isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.IsNot) and is_none(test.comparators[0])


def _told(test: ast.expr) -> str | None:
    asked = test.values[0] if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else test
    if isinstance(asked, ast.Attribute) and asked.attr == "is_cuda":
        return f"{ast.unparse(asked.value)}.device"
    left = asked.left if isinstance(asked, ast.Compare) and isinstance(asked.ops[0], ast.Eq) else None
    if isinstance(left, ast.Attribute) and left.attr == "type" and last_part(chain(left.value)).endswith("device"):
        return ast.unparse(left.value)  # `x.device.type == "cuda"`
    plain = isinstance(test, ast.Name | ast.Attribute | ast.Call) and len(ast.unparse(test)) <= _SHORT
    return f'"cuda" if {ast.unparse(test)} else "cpu"' if plain else None
