"""Reads in the key that a list is sorted by: one wait for each element, where one copy before gives all numbers.

    ids.sort(key=lambda i: scores[i].item())        values = scores.tolist()
                                                    ids.sort(key=values.__getitem__)
    max(beams, key=lambda b: float(b.score))
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import names_of

_SORT = frozenset(("sort", "sorted", "min", "max", "nlargest", "nsmallest"))
_CHOSEN = {"max": "argmax", "min": "argmin"}


def read_before_sorting(place: Place) -> str | None:
    """What to write instead of a read in a key; None where no key reads."""
    around = place.file.enclosing(place.function)
    inner: ast.AST = place.expression
    for node in around.around(place.expression):
        if isinstance(node, ast.stmt):
            return None
        if isinstance(node, ast.Lambda):
            inner = node
            break
    given = around.parents.get(inner)
    call = around.parents.get(given) if isinstance(given, ast.keyword) and given.arg == "key" else None
    if not isinstance(inner, ast.Lambda) or not isinstance(call, ast.Call) or last_part(chain(call.func)) not in _SORT:
        return None
    name = last_part(chain(call.func))
    whole = _whole(place, {argument.arg for argument in inner.args.args})
    if whole is None:
        return f"read all the numbers in one copy before `{name}`, `torch.stack([...]).tolist()`, and sort by those"
    written = place.file.brief(whole)
    copied = f"copy `{written}` once before `{name}`, `values = {written}.tolist()`, and let the key take its number"
    chosen = _CHOSEN.get(name)
    if chosen is None or not _of_all(call, inner, whole, place):
        return f"{copied} from that"
    return f"{copied} from that; or let the device choose, `{written}.{chosen}()`"


def _whole(place: Place, elements: set[str]) -> ast.expr | None:
    """The tensor that is read by element: `scores[i]` of `scores[i][word].item()`, where the key gets `word`."""
    node = _read(place)
    while isinstance(node, ast.Subscript):
        if names_of(node.slice) & elements and not names_of(node.value) & elements:
            return node.value if place.file.value(node.value, place).kind == "tensor" else None
        node = node.value
    return None


def _read(place: Place) -> ast.expr | None:
    """`scores[i]` of `scores[i].item()` and `float(scores[i])`."""
    read = place.expression
    if not isinstance(read, ast.Call):
        return None
    bare = isinstance(read.func, ast.Name) and len(read.args) == 1
    return read.args[0] if bare else read.func.value if isinstance(read.func, ast.Attribute) else None


def _of_all(call: ast.Call, key: ast.Lambda, whole: ast.expr, place: Place) -> bool:
    """`max(range(len(scores)), key=lambda i: scores[i].item())`: the place of the largest of all, and of no others."""
    read = _read(place)
    first = isinstance(read, ast.Subscript) and read.value is whole and isinstance(read.slice, ast.Name)
    alone = ast.unparse(key.body) == ast.unparse(place.expression)
    over = ast.unparse(call.args[0]) if len(call.args) == 1 else ""
    return first and alone and over == f"range(len({ast.unparse(whole)}))"
