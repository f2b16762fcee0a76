"""Lists of index tensors: `for rows in groups` with `x[rows]`, where each item chooses several rows.

    assert sum(len(rows) for rows in groups) == x.shape[0]
    pooled = [x[rows].mean(0) for rows in groups]

An item may be a single place as well, so something has to show that it is not: its length is asked, an annotation says
that it is a tensor, or its value is known.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.hints import SEQUENCES, annotation_words
from torchperf_lint.facts.files.spots import Spot
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import nodes_of
from torchperf_lint.patterns import pattern

_MASK = pattern(r"mask")
_SEVERAL = frozenset({"tensor", "array", "sequence"})


def chooses_several(spot: Spot, over: ast.expr, name: str) -> bool:
    """Whether the items of what a loop goes over, each of which it calls `name`, hold several places each."""
    if _MASK.search(name) or _MASK.search(last_part(chain(over))):
        return False  # of which each holds as many as the tensor has rows
    item = spot.file.value(over, spot).item
    if item is not None and item.kind in _SEVERAL:
        return True
    return _is_annotated(spot, over) or _is_measured(spot, over, name)


def _is_annotated(spot: Spot, over: ast.expr) -> bool:
    """`groups: list[torch.Tensor]`."""
    body = spot.file.project.body(spot.file.path)
    words = annotation_words(body, spot.function, over.id) if body is not None and isinstance(over, ast.Name) else None
    return words is not None and "Tensor" in words and not words.isdisjoint(SEQUENCES)


def _is_measured(spot: Spot, over: ast.expr, name: str) -> bool:
    """Whether the function asks for the length of an item: in this loop, or in another one over the same list."""
    body = spot.file.project.body(spot.file.path)
    written = chain(over)
    for node in nodes_of(body.functions[spot.function]) if body is not None else ():
        heads = [node] if isinstance(node, ast.For) else getattr(node, "generators", [])
        names = {chain(h.target) for h in heads if chain(h.iter) == written}
        if names and any(_asks_length(part, names | {name}) for part in nodes_of(node)):
            return True
    return False


def _asks_length(node: ast.AST, names: set[str]) -> bool:
    if not isinstance(node, ast.Call):
        return False
    if chain(node.func) == "len":
        return len(node.args) == 1 and chain(node.args[0]) in names
    owner, _, method = chain(node.func).rpartition(".")
    return owner in names and method in ("size", "numel")
