"""The calls of a piece of code, and whether a count decides about one: `if (i + 1) % 4 == 0:`."""

from __future__ import annotations

import ast

from torchperf_lint.facts.syntax.enclosing import Enclosing
from torchperf_lint.facts.syntax.syntax import children_of

_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def calls_in(*roots: ast.AST) -> list[ast.Call]:
    """The calls of a piece of code in the order of their lines, those of inner functions left out."""
    found: list[ast.Call] = []
    stack: list[ast.AST] = [*roots]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Call):
            found.append(node)
        stack += [child for child in children_of(node) if not isinstance(child, _INNER)]
    return sorted(found, key=lambda call: (call.lineno, call.col_offset, -(call.end_col_offset or 0)))


def under_a_count(around: Enclosing, node: ast.AST, loop: ast.AST) -> ast.expr | None:
    """What turns of a loop are counted by where one in so many reaches a node; None where no count decides.

    Either the branch around it asks, or a branch above leaves the turn: `if (i + 1) % 4: continue`.
    """
    inner = node
    while inner is not loop and inner in around.parents:
        parent = around.parents[inner]
        if isinstance(parent, ast.If) and any(inner is statement for statement in parent.body):
            count = counted_by(around, parent.test)
            if count is not None:
                return count
        if parent is loop and isinstance(inner, ast.stmt):
            for above in around.suite(inner):
                if above is inner:
                    break
                if isinstance(above, ast.If) and isinstance(above.body[-1], ast.Continue):
                    count = counted_by(around, above.test)
                    if count is not None:
                        return count
        inner = parent
    return None


def counted_by(around: Enclosing, test: ast.expr) -> ast.expr | None:
    """What a test counts by: `k` of `(i + 1) % k == 0`, also where a name holds the comparison."""
    pending: list[tuple[ast.AST, int]] = [(test, 0)]
    for node, hops in pending:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            return node.right if not isinstance(node.left, ast.Constant | ast.JoinedStr) else None
        if isinstance(node, ast.Name) and hops == 0:
            for store in around.of_kinds((ast.Assign,)):
                assert isinstance(store, ast.Assign)
                if any(isinstance(t, ast.Name) and t.id == node.id for t in store.targets):
                    pending.append((store.value, 1))
        if len(pending) < 200:
            pending += [(child, hops) for child in children_of(node)]
    return None
