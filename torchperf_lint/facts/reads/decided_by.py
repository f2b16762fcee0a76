"""Whether what one assignment gives a name decides what runs next: the name may decide elsewhere, with another value.

loss = loss[0] if len(loss) > 1 else loss        # a tensor, of a test
...
loss = loss.item()                               # a number, for the log
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.bindings.deciding import asks_about, decides_by
from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.outlines.complaints import only_reports
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.reads.counted_answers import only_counts
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.syntax import Assignment, nodes_of, targets_of

_ROUNDS = 3
"""How many names may stand between a value and what it decides."""


def decides_itself(place: Place, assignment: Assignment, decisive: frozenset[str], indices: bool) -> bool:
    """Whether any name that an assignment binds decides with the value that it has from there.

    `decisive`: the names that do in the whole function. What is no local name is taken to.
    """
    seen: set[tuple[ast.stmt, str]] = set()
    made: list[tuple[ast.stmt, str]] = [(assignment, name) for name in _bound(assignment)]
    for _ in range(_ROUNDS):
        following: list[tuple[ast.stmt, str]] = []
        for statement, name in made:
            if (statement, name) in seen or name not in decisive:
                continue
            seen.add((statement, name))
            if not name.isidentifier():
                return True
            for read in _reads(place, statement, name):
                then = _use(place, read, decisive, indices)
                if then is True:
                    return True
                following += then or []
        made = following
    return any(name in decisive and (statement, name) not in seen for statement, name in made)


def _bound(statement: Assignment | ast.For) -> Iterator[str]:
    """The names, attributes and containers that a statement gives another value."""
    stack = [statement.target] if isinstance(statement, ast.For) else list(targets_of(statement))
    while stack:
        target = stack.pop()
        if isinstance(target, ast.Tuple | ast.List):
            stack += target.elts
        elif isinstance(target, ast.Starred):
            stack.append(target.value)
        else:
            yield chain(target)


def _reads(place: Place, statement: ast.stmt, name: str) -> Iterator[ast.Name]:
    """Where a name may have the value that a statement gives it."""
    body = place.file.project.body(place.file.path)
    assert body is not None
    ends = body.at(statement, end=True)
    tests = _tests_after(place, statement) if isinstance(statement, Assignment) else {}
    for read in body.reads(place.function, name):
        at = tests.get(read, body.at(read))
        found = body.reaching(place.function, name, at) or ()
        if isinstance(statement, ast.For):
            if any(d.how == "loop" and d.at[0] == statement.target.lineno for d in found):
                yield read
        elif any(d.end == ends and not _is_replaced(d, found, at) for d in found):
            yield read


def _is_replaced(definition: Definition, found: Sequence[Definition], at: Position) -> bool:
    """Whether who passes a definition passes a later one, too, before a place, in this turn or the next."""
    later = (d for d in found if d.at > definition.at and d.how != "augmented" and (d.at < at) == (definition.at < at))
    return any(definition.block[: len(d.block)] == d.block for d in later)


def _tests_after(place: Place, assignment: Assignment) -> dict[ast.AST, Position]:
    """What the loops around an assignment ask after each turn, `while largest > 10:`, by where their bodies end."""
    body = place.file.project.body(place.file.path)
    loops = [o for o in place.file.enclosing(place.function).around(assignment) if isinstance(o, ast.While)]
    assert body is not None
    return {part: body.at(loop, end=True) for loop in loops for part in nodes_of(loop.test)}


def _only_tells(place: Place, branch: ast.If) -> bool:
    """Whether a branch does nothing but count or report: no computation hangs on its test."""
    return only_counts(place, branch) or (
        not branch.orelse and only_reports(branch.body, lambda name: _reads_from(place, branch, name))
    )


def _reads_from(place: Place, branch: ast.If, name: str) -> Iterator[ast.Name]:
    """Where a name may have a value that a branch gives it: one that is bound anew before each other use has none."""
    body = place.file.project.body(place.file.path)
    assert body is not None
    starts, ends = body.at(branch), body.at(branch, end=True)
    for read in body.reads(place.function, name):
        found = body.reaching(place.function, name, body.at(read))
        if found is None or any(starts <= d.at <= ends for d in found):
            yield read


def _held(assignment: Assignment) -> Iterator[ast.expr]:
    """What an assignment puts an entry into: `totals` of `totals[k] = v`."""
    for target in targets_of(assignment):
        yield from (part.value for part in ast.walk(target) if isinstance(part, ast.Subscript))


def _held_decides(place: Place, store: Assignment, whole: ast.expr, decisive: frozenset[str], indices: bool) -> bool:
    """Whether a container may decide once an entry is put into it: by what is read of it after that.

    A step that ends with `losses[k] = v.item()` begins the next one with another `losses`.
    """
    if not isinstance(whole, ast.Name):
        return True
    parents = place.file.enclosing(place.function).parents
    later = [read for read in _reads_after(place, store, whole) if not _is_stored_into(parents.get(read))]
    uses = [_use(place, read, decisive, indices, held=False) for read in later]
    return any(use is True or any(name in decisive for _, name in use or ()) for use in uses)


def _reads_after(place: Place, store: Assignment, whole: ast.Name) -> Iterator[ast.Name]:
    """Where the container that a statement stores into may be read afterwards, in this turn of a loop or a later one.

    What a `for` goes through it has begun to go through before.
    """
    body = place.file.project.body(place.file.path)
    assert body is not None
    here, ends = body.at(whole), body.at(store, end=True)
    bound = set(body.reaching(place.function, whole.id, here) or ())
    around = [o for o in place.file.enclosing(place.function).around(store) if isinstance(o, ast.For | ast.While)]
    turns = [(body.at(loop), body.at(loop, end=True), _begun(loop)) for loop in around]
    for read in body.reads(place.function, whole.id):
        at = body.at(read)
        found = body.reaching(place.function, whole.id, at)
        if found is not None and not bound & set(found):
            continue
        again = (
            starts <= at < stops and read not in begun and any(not starts <= d.at < stops for d in bound)
            for starts, stops, begun in turns
        )
        if at > ends or found is None or any(again):
            yield read


def _is_stored_into(parent: ast.AST | None) -> bool:
    return isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Store)


def _begun(loop: ast.For | ast.While) -> frozenset[ast.AST]:
    return frozenset(nodes_of(loop.iter)) if isinstance(loop, ast.For) else frozenset()


def _use(
    place: Place, read: ast.Name, decisive: frozenset[str], indices: bool, held: bool = True
) -> bool | list[tuple[ast.stmt, str]]:
    """True where a read decides something; else what is made of it.

    Without `held`, a container into which it is put is not followed: one that decides anywhere is taken to do so.
    """
    around = place.file.enclosing(place.function)
    node: ast.AST = read
    if node not in around.parents:
        return True  # in a function inside
    for parent in around.around(read):
        if asks_about(parent):
            return []
        if isinstance(parent, ast.Compare) and any(isinstance(op, ast.In | ast.NotIn) for op in parent.ops):
            return True
        if decides_by(parent, node, indices):
            return not (isinstance(parent, ast.If) and _only_tells(place, parent)) or []
        if isinstance(parent, Assignment):
            into = [whole for whole in _held(parent) if chain(whole) in decisive]
            if any(not held or _held_decides(place, parent, whole, decisive, indices) for whole in into):
                return True
            return [(parent, name) for name in _bound(parent)]
        if isinstance(parent, ast.For) and parent.iter is node:
            return [(parent, name) for name in _bound(parent)]
        if isinstance(parent, ast.comprehension):
            return True
        if isinstance(parent, ast.stmt):
            return []
        node = parent
    return []
