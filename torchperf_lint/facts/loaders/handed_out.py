"""Loaders that a function makes and hands out, to a training loop that is not in the project."""

from __future__ import annotations

import ast
import re

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.values.values import Values
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_TRAINS = pattern(r"(?:^|_)train(?:ing)?(?:_|$)", re.IGNORECASE)


def handed_out(values: Values, path: str, line: int, column: int) -> Hot | None:
    """Why the loader made at a place is trained on, where its function returns it as the training loader.

    Its name says so (`return train_loader, val_loader`), or the function's, where the loader has none.
    """
    outline = values.index.outlines[path]
    index = outline.regions[values.hotness.innermost(path, (line, column))].function
    body = values.body(path)
    if body is None or index == 0:
        return None
    function = outline.functions[index]
    returned = [part for node in body.returns(index) for part in (node.elts if isinstance(node, ast.Tuple) else [node])]
    told = next((n for n in (_name(body, index, part, (line, column)) for part in returned) if n is not None), None)
    if told is None or not _TRAINS.search(told or function.name):
        return None
    because = f"whoever calls `{function.qualname}` ({path}:{function.header_line}) trains on what it returns"
    return Hot("step", because, "every training step", Confidence.LIKELY, path, function.header_line)


def _name(body: Body, function: int, returned: ast.expr, made_at: tuple[int, int]) -> str | None:
    """The name of the loader in a return; empty where it has none, None where something else is returned."""
    if isinstance(returned, ast.Call):
        return "" if body.at(returned) == made_at else None
    if not isinstance(returned, ast.Name):
        return None
    bound = body.definitions(function).get(returned.id, ())
    made = any(isinstance(d.value, ast.Call) and body.at(d.value) == made_at for d in bound)
    return returned.id if made else None
