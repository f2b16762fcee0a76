"""Reads in the key that a list is sorted by: one wait for each element, where one copy before gives all numbers.

    ids.sort(key=lambda i: scores[i].item())        values = scores.tolist()
                                                    ids.sort(key=values.__getitem__)
    max(beams, key=lambda b: float(b.score))
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.chains import chain, last_part
from torchperf_lint.facts.source import Place
from torchperf_lint.facts.syntax import names_of

_SORT = frozenset(("sort", "sorted", "min", "max", "nlargest", "nsmallest"))


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
    whole = _whole(place.expression, {argument.arg for argument in inner.args.args})
    if whole is None:
        return f"read all the numbers in one copy before `{name}`, `torch.stack([...]).tolist()`, and sort by those"
    written = place.file.brief(whole)
    on_device = {"max": "argmax()", "min": "argmin()"}.get(name, "topk(n)")
    return (
        f"copy `{written}` once before `{name}`, `values = {written}.tolist()`, and let the key take its number from "
        f"that; or let the device choose, `{written}.{on_device}`"
    )


def _whole(read: ast.AST, elements: set[str]) -> ast.expr | None:
    """What is read element by element: `scores[i]` of `scores[i][word].item()`, where the key is given `word`."""
    found: ast.expr | None = None
    for node in ast.walk(read):
        if isinstance(node, ast.Subscript) and names_of(node.slice) & elements and not names_of(node.value) & elements:
            found = node.value
    return found
