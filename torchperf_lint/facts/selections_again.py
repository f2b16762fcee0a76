"""One mask that selects from several tensors: its elements could be found once."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from torchperf_lint.facts.changed_in_place import changed
from torchperf_lint.facts.enclosing import Enclosing
from torchperf_lint.facts.selections import INDICES, LOAD, Selection
from torchperf_lint.facts.source import SourceFile
from torchperf_lint.facts.syntax import names_of
from torchperf_lint.patterns import pattern

_RESULTS = pattern(
    r"nms|post_?process|(?:^|[._])(?:predict|infer|detect|decode|get_(?:bboxes|boxes|results|proposals))(?:_|$)|Detector\.",
    re.IGNORECASE,
)
"""Functions that turn outputs into what a user gets; the size of that is read in the end."""
_SEARCHES = (LOAD, INDICES)


def is_used_again(selection: Selection, found: Sequence[Selection]) -> bool:
    """Whether the same mask selects from something else beside, or is searched for its elements once more:
    `x[mask.nonzero()]`, then `y[mask]`. Of what is shown to a user that is left alone."""
    spot = selection.spot
    if selection.form not in _SEARCHES or _RESULTS.search(spot.file.outline.functions[spot.function].qualname):
        return False
    if selection.form == INDICES and _is_written(selection):
        return False
    return any(
        other is not selection
        and other.form in _SEARCHES
        and (other.spot.function, other.key) == (spot.function, selection.key)
        and together(selection, other)
        for other in found
    )


def _is_written(selection: Selection) -> bool:
    """Whether the function writes into what the mask is made of: another search finds other elements."""
    spot = selection.spot
    written = spot.file.once(_none_read)
    if spot.function not in written:
        whole = (part for node in spot.file.enclosing(spot.function).parents for part in changed(node))
        written[spot.function] = frozenset(part.id for part in whole if isinstance(part, ast.Name))
    return not written[spot.function].isdisjoint(names_of(selection.mask))


def _none_read(file: SourceFile) -> dict[int, frozenset[str]]:
    """Function -> the names that it writes into, to be filled as the selections of a file ask for them."""
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
