"""One mask that selects, or stores, several times: its elements could be found once."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchperf_lint.facts.constants.changed_in_place import changed
from torchperf_lint.facts.constants.switched_on import is_switched_on
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.selections import CHANGE, INDICES, LOAD, STORE, Selection
from torchperf_lint.facts.outlines.guards import literal_turns
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.enclosing import Enclosing
from torchperf_lint.facts.syntax.syntax import names_of

_SEARCHES = (LOAD, INDICES, STORE)


def is_used_again(selection: Selection, found: Sequence[Selection]) -> bool:
    """Whether the same mask is searched for its elements once more: `x[mask]`, then `y[mask]`; `x[mask.nonzero()]`,
    then `y[mask]`; `out[mask] = f(x[mask])`. `x[mask] *= 2` searches twice by itself, and so does what stands in a
    comprehension, `x, y = (part[mask] for part in (x, y))`.

    That needs no second search, whatever becomes of the elements: also where a user gets them in the end.
    """
    twice = selection.form == CHANGE or _is_in_turns(selection) or any(_is_beside(selection, o) for o in found)
    return twice and not _is_seldom(selection)


def _is_beside(selection: Selection, other: Selection) -> bool:
    """Whether another search is for the same elements, in the same call of the function."""
    return (
        other is not selection
        and selection.form in _SEARCHES
        and other.form in _SEARCHES
        and (other.spot.function, other.key) == (selection.spot.function, selection.key)
        and together(selection, other)
        and not _is_changed_between(selection, other)
    )


def _is_in_turns(selection: Selection) -> bool:
    """`[part[mask] for part in (x, y, z)]`: each turn of a comprehension searches the same mask anew, for its own."""
    spot = selection.spot
    loop = next(spot.file.enclosing(spot.function).loops(spot.expression), None)
    if not isinstance(loop, ast.comprehension) or selection.form not in (LOAD, INDICES):
        return False
    own = names_of(loop.target)
    if own & names_of(selection.mask) or not (selection.form == INDICES or own & names_of(selection.base)):
        return False
    turns = literal_turns(loop.iter)
    return turns is None or turns > 1


def _is_seldom(selection: Selection) -> bool:
    """`if not finite.all(): boxes = boxes[finite]`: what leaves out numbers that went wrong, which there seldom are;
    and what an option asks for that is off by default."""
    if is_switched_on(selection.spot):
        return True
    around, mask = selection.spot.file.enclosing(selection.spot.function), ast.unparse(selection.mask)
    tests = (parent.test for parent in around.around(selection.spot.expression) if isinstance(parent, ast.If))
    asked = (f"not {mask}.all()", f"not torch.all({mask})", f"not all({mask})")
    return any(ast.unparse(test) in asked for test in tests) and _asks_for_finite(selection)


def _asks_for_finite(selection: Selection) -> bool:
    """Whether a mask, or what its name is bound to, is of finite numbers."""
    body = selection.spot.file.project.body(selection.spot.file.path)
    mask = selection.mask
    if body is not None and isinstance(mask, ast.Name):
        mask = body.assigned_once(selection.spot.function, mask.id, body.at(mask)) or mask
    calls = (part for part in ast.walk(mask) if isinstance(part, ast.Call))
    return any(last_part(chain(call.func)) in _FINITE for call in calls)


_FINITE = frozenset({"isfinite", "isnan", "isinf"})


def _is_changed_between(one: Selection, other: Selection) -> bool:
    """Whether what the mask is made of is written into between two searches: the later finds other elements."""
    spot, other_spot = one.spot, other.spot
    around = spot.file.enclosing(spot.function)
    if around.statement(spot.expression) is around.statement(other_spot.expression):
        return False  # all of its masks are read before it writes
    first, second = sorted(spot.file.span(s.expression)[0] for s in (spot, other_spot))
    written = spot.file.once(_none_read)
    if spot.function not in written:
        written[spot.function] = _changes(spot.file, around)
    names = names_of(one.mask)
    return any(first <= at < second and name in names for at, name in written[spot.function])


def _changes(file: SourceFile, around: Enclosing) -> list[tuple[tuple[int, int], str]]:
    """Where a function writes into what names hold."""
    whole = (part for node in around.parents for part in changed(node))
    return [(file.span(part)[0], part.id) for part in whole if isinstance(part, ast.Name)]


def _none_read(file: SourceFile) -> dict[int, list[tuple[tuple[int, int], str]]]:
    """Function -> its writes, to be filled as the selections of a file ask for them."""
    del file
    return {}


def together(one: Selection, other: Selection) -> bool:
    """Whether one call of the function may run both: not in two branches of one `if`, nor after one that leaves."""
    around = one.spot.file.enclosing(one.spot.function)
    first, second = sorted((one, other), key=lambda s: s.spot.file.span(s.spot.expression)[0])
    branches = {id(p): n for p, n in _branches(first, around)}
    for parent, number in _branches(second, around):
        if branches.get(id(parent), number) != number:
            return False
    holders = {id(p) for p, _ in _branches(second, around)}
    for parent, number in _branches(first, around):
        block = parent.body if number == 0 else parent.orelse
        leaves = isinstance(block, list) and isinstance(block[-1], ast.Return | ast.Raise | ast.Continue)
        if leaves and id(parent) not in holders:
            return False
    return True


def _branches(selection: Selection, around: Enclosing) -> Iterator[tuple[ast.If | ast.IfExp, int]]:
    """The `if`s around a selection, with the branch that it is in."""
    inner: ast.AST = selection.spot.expression
    for parent in around.around(inner):
        if isinstance(parent, ast.If) and inner is not parent.test:
            yield parent, 0 if any(inner is s for s in parent.body) else 1
        elif isinstance(parent, ast.IfExp) and inner is not parent.test:
            yield parent, 0 if inner is parent.body else 1
        inner = parent
