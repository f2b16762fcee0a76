"""What becomes of a number that was read from the device and that nothing decides by: who may read it later instead.

total += loss.item()                       # recorded: a tensor can be added up as well, and read in the end
return {"loss": loss.item()}               # returned: the caller may read it when it logs
self.pool(x, size=lengths.max().item())    # used at once: a later read is too late
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.chains import chain
from torchperf_lint.facts.source import Place
from torchperf_lint.patterns import pattern

RECORDED, RETURNED, USED = "recorded", "returned", "used"
_RECORDS = pattern(
    r"(?:^|[._])(?:append|extend|add|update|log|info|debug|print|record|track|store|observe|push|write|report|put|set_\w+|"
    r"add_\w+|log_\w+|write_\w+|update_\w+|format|join|setdefault|insert)(?:\(\))?$"
    r"|(?:^|[._])(?:meter|metric|logger|writer|stats?|history|tracker)s?(?:\(\)|\[\])?$"
)
"""What keeps, adds up or shows numbers."""
_SAME = frozenset(
    "float int round abs bool str max min sum len dict list tuple np.mean np.sum np.sqrt math.sqrt".split()
)
"""What gives a number for a number: it is recorded, returned or used as that is."""
_HOPS = 3


def kept_as(place: Place) -> str:
    """What a number that is read becomes; USED where any of its uses is none of the others."""
    return _kept(place, place.expression, _HOPS)


def _kept(place: Place, node: ast.AST, hops: int) -> str:
    added: set[str] = set()
    for parent in place.file.enclosing(place.function).ancestors(node):
        if isinstance(parent, ast.BinOp):
            added |= {chain(side) for side in (parent.left, parent.right) if side is not node}
        if isinstance(parent, ast.Return | ast.Yield):
            return RETURNED
        if isinstance(parent, ast.AugAssign | ast.JoinedStr | ast.Expr):
            return RECORDED
        if isinstance(parent, ast.Assign | ast.AnnAssign):
            return _bound(place, parent, added, hops)
        if isinstance(parent, ast.Call) and parent.func is not node and chain(parent.func) not in _SAME:
            return RECORDED if _RECORDS.search(chain(parent.func)) else USED
        if isinstance(parent, ast.Subscript | ast.stmt | ast.Compare):
            return USED
        node = parent
    return USED


def _bound(place: Place, assignment: ast.Assign | ast.AnnAssign, added: set[str], hops: int) -> str:
    targets = assignment.targets if isinstance(assignment, ast.Assign) else [assignment.target]
    if any(isinstance(target, ast.Subscript | ast.Attribute) for target in targets):
        return RECORDED
    names = {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}
    if names & added:
        return RECORDED  # `total = total + loss.item()`
    body = place.file.project.body(place.file.path)
    if body is None or not hops:
        return USED
    after = [n for name in names for n in body.reads(place.function, name) if n.lineno > assignment.lineno]
    found = {_kept(place, use, hops - 1) for use in after}
    return next((word for word in (USED, RETURNED) if word in found), RECORDED)


def later(place: Place, written: str) -> str:
    """What to write instead of reading a number at once, `written` being the tensor."""
    then = kept_as(place)
    if then == RETURNED:
        return f"return `{written}.detach()`: who needs the number reads it, who shows it under `if step % n == 0:`"
    if then == USED:
        return (
            f"keep `{written}` a tensor in what follows, or take the number from what the host knows already: shapes, "
            "the loader, settings"
        )
    if place.hot is not None and place.hot.kind == "forward":
        return f"keep `{written}.detach()`, and read it where it is shown, under `if step % n == 0:`"
    return (
        f"add `{written}.detach()` to a tensor on the device and read that once after the loop, "
        "or read it under `if step % n == 0:`"
    )
