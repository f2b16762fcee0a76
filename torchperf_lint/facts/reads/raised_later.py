"""Answers that are read from the device, given names, and only complained of: `if failed: raise`.

    curved, finite = torch.stack((low.any(), bad.any())).tolist()
    if curved:
        raise RuntimeError("not positive definite")
    if finite:
        raise RuntimeError("not finite")

Nothing that is computed later depends on them.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.syntax.syntax import Assignment, targets_of

_FEW = 16
"""Reads of a name that is only complained of: others are not looked at one by one."""


def only_raised(place: Place, assignment: Assignment) -> bool:
    """Whether all names that an assignment binds are read in tests that raise, and in what these say."""
    body = place.file.project.body(place.file.path)
    targets = [p for t in targets_of(assignment) for p in (t.elts if isinstance(t, ast.Tuple | ast.List) else [t])]
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    if body is None or not names or len(names) != len(targets):
        return False
    return all(_is_only_raised(place, name, assignment) for name in sorted(names))


def _is_only_raised(place: Place, name: str, assignment: Assignment) -> bool:
    body = place.file.project.body(place.file.path)
    assert body is not None
    made, reads = body.at(assignment), body.reads(place.function, name)
    later = [
        read
        for read in (reads if len(reads) <= _FEW else ())
        if any(d.at >= made and d.at[0] <= (assignment.end_lineno or 0) for d in _bound(place, name, read))
    ]
    return bool(later) and all(_complains(place, read) for read in later)


def _bound(place: Place, name: str, read: ast.Name) -> list[Definition]:
    body = place.file.project.body(place.file.path)
    assert body is not None
    return body.reaching(place.function, name, body.at(read)) or []


def _complains(place: Place, read: ast.Name) -> bool:
    """Whether a name is read by a test that raises, or to say why."""
    node: ast.AST = read
    for parent in place.file.enclosing(place.function).around(read):
        if isinstance(parent, ast.Raise | ast.Assert):
            return True
        if isinstance(parent, ast.If):
            return parent.test is node and not parent.orelse and isinstance(parent.body[-1], ast.Raise)
        if isinstance(parent, ast.stmt):
            return False
        node = parent
    return False
