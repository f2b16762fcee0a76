"""Parameters that a function converts whatever it is given: each class that the annotation names, by a test of its own.

    def table(dim, pos: np.ndarray | int):
        if isinstance(pos, int):
            pos = torch.arange(pos)
        if isinstance(pos, np.ndarray):
            pos = torch.from_numpy(pos)          # from here on `pos` is one of the two tensors
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.hints import annotation_of
from torchperf_lint.facts.syntax.chains import chain, last_part

_UNIONS = frozenset({"Union", "Optional"})


def converts_all(body: Body, function: int, name: str, reaching: Sequence[Definition]) -> bool:
    """Whether the bindings of a parameter stand behind tests for all classes that its annotation names."""
    annotation = annotation_of(body.functions.get(function), name)
    if annotation is None or not reaching:
        return False
    tested: set[str] = set()
    for d in reaching:
        found = body.narrowing(function, name, body.at(d.value)) if d.how == "assign" and d.value is not None else None
        if found is not None and found.holds and not found.elements:
            tested |= {part.strip(" ()").rpartition(".")[2] for part in found.classes.replace("|", ",").split(",")}
    named = _alternatives(annotation)
    return bool(named) and named <= tested


def _alternatives(annotation: ast.expr) -> set[str]:
    """The classes that an annotation names side by side, without modules: `list` and `int` of `list[str] | int`."""
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        return _alternatives(annotation.left) | _alternatives(annotation.right)
    if isinstance(annotation, ast.Constant):
        return {"None" if annotation.value is None else "?"}
    if not isinstance(annotation, ast.Subscript):
        return {last_part(chain(annotation)) or "?"}
    of = last_part(chain(annotation.value))
    if of not in _UNIONS:
        return {of or "?"}
    parts = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
    inside = set().union(*(_alternatives(part) for part in parts))
    return inside | {"None"} if of == "Optional" else inside
