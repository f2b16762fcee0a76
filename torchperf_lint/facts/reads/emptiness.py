"""Tests whether a mask has any element set, before the same mask selects: that waits for its elements anyway.

Found once, `rows = mask.nonzero(as_tuple=True)`, the host knows how many there are, and neither the test nor any
of the selections waits again. The mask may be made anew after the test, which a function of the project may ask:
`if contains_unknown(labels): unknown = is_unknown(labels)`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.outlines.masking import mask_asked
from torchperf_lint.facts.reads.truth_helpers import answer_with
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.enclosing import Enclosing

_TRAINS = frozenset({"step", "forward"})
_SEARCHES = frozenset({"nonzero", "argwhere", "masked_select"})


def asks_emptiness(place: Place) -> bool:
    """Whether a training step or forward pass asks if a mask is empty that selects after the test as well."""
    asked, hot = place.expression, place.hot
    if hot is None or hot.kind not in _TRAINS or hot.evaluates or hot.optional or not isinstance(asked, ast.expr):
        return False
    around = place.file.enclosing(place.function)
    branch = _branch_on(asked, around)
    if branch is None:
        return False
    mask = (mask_asked(asked) or _asked_by_helper(place, asked)).removeprefix("~")
    last = (branch.test.end_lineno or 0, branch.test.end_col_offset or 0)
    names = {mask} if mask.isidentifier() else _made_anew(around, mask, last)
    return any((node.lineno, node.col_offset) > last for name in names for node in _selecting(name, around))


def _asked_by_helper(place: Place, asked: ast.expr) -> str:
    """The mask, as source, that a function of the project asks for its caller; empty where none is told."""
    answer = answer_with(place.file, place.function, asked) if isinstance(asked, ast.Call) else None
    return mask_asked(answer) if answer is not None else ""


def _made_anew(around: Enclosing, mask: str, last: tuple[int, int]) -> set[str]:
    """The names that the function binds, behind a test, to the mask which that has asked, `m = (w > 0).detach()`."""
    made: set[str] = set()
    for node in around.of_kinds((ast.Assign,)) if mask else ():
        assert isinstance(node, ast.Assign)
        if (node.lineno, node.col_offset) > last and ast.unparse(_undetached(node.value)) == mask:
            made |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return made


def _undetached(node: ast.expr) -> ast.expr:
    """`m` of `m.detach()`."""
    detached = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "detach"
    return node.func.value if detached else node  # type: ignore[attr-defined]


def _branch_on(asked: ast.expr, around: Enclosing) -> ast.If | ast.IfExp | None:
    """The branch that the answer decides, alone or where other tests let it: `w is not None and not w.any()`."""
    for parent in around.ancestors(asked):
        if isinstance(parent, ast.If | ast.IfExp):
            return parent
        if not isinstance(parent, ast.UnaryOp | ast.BoolOp):
            return None
    return None


def _selecting(name: str, around: Enclosing) -> Iterator[ast.expr]:
    """Where a function takes the elements that a mask picks: `x[m]`, `x[m, 0]`, `m.nonzero()`."""
    for node in around.of_kinds((ast.Subscript, ast.Call)):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        elif isinstance(node, ast.Call) and last_part(chain(node.func)) in _SEARCHES:
            parts = [*node.args, *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]
        else:
            continue
        if any(isinstance(part, ast.Name) and part.id == name for part in parts):
            yield node
