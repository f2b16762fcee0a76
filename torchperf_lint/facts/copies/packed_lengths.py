"""Lengths that `pack_padded_sequence` takes on the host, and masks that are made of them there.

    lengths = mask.sum(1).cpu()
    some = lengths > 0                 # on the host, too: each use as an index copies it to the device
    packed = pack_padded_sequence(x[some], lengths[some])
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.call_graph.passed import argument_for
from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.files.spots import Spot
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.enclosing import Enclosing

_KEEPS = frozenset("cpu to tolist numpy detach int long clamp clamp_min flatten view reshape squeeze".split())
"""Methods that give the same lengths, one for each sequence."""
_FEW = 4
"""Functions looked at that a call may run."""


def packed_lengths(around: Enclosing) -> Iterator[ast.expr]:
    """What a function gives as the lengths of packed sequences."""
    for call in around.of_kinds((ast.Call,)):
        if isinstance(call, ast.Call) and last_part(chain(call.func)) == "pack_padded_sequence":
            yield from call.args[1:2]
            yield from (k.value for k in call.keywords if k.arg == "lengths")


def _named_lengths(around: Enclosing) -> set[str]:
    """The variables that a function gives as such lengths; not the sequences that it takes a size of."""
    return {_root(part) for part in packed_lengths(around)} - {""}


def _root(node: ast.expr) -> str:
    """`lengths` of `lengths[some].clamp(min=1).tolist()`; empty for `batch[1]` and what is computed."""
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _KEEPS:
            node = node.func.value
        elif isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
            node = node.value
        else:
            return node.id if isinstance(node, ast.Name) else ""


def handed_on_as_lengths(place: Place, call: ast.Call, node: ast.AST) -> bool:
    """Whether a call gives a part of it, as it is, to a function of the project that packs sequences by these lengths.

    `self.rnn(x, lengths.cpu())`, of a `forward(self, x, lengths)` that calls `pack_padded_sequence(x, lengths)`.
    """
    project, node = place.file.project, node.value if isinstance(node, ast.keyword) else node
    for key in project.types.targets(place.file.path, place.function, chain(call.func))[:_FEW]:
        body, record = project.body(key.path), project.index.function(key)
        function = body.functions.get(key.index) if body is not None else None
        if not isinstance(function, ast.FunctionDef):
            continue
        lengths = _named_lengths(Enclosing(function))
        own = (p.name for p in record.parameters if p.name in lengths)
        if any(argument_for(call, record, name) is node for name in own):
            return True
    return False


def mask_of_lengths(spot: Spot, index: ast.expr) -> ast.expr | None:
    """The tensor on the device that lengths are copied from, where an index is a mask made of the copy; else None."""
    body = spot.file.project.body(spot.file.path)
    if body is None or not isinstance(index, ast.Name):
        return None
    mask = body.assigned_once(spot.function, index.id, body.at(index))
    lengths = mask.left if isinstance(mask, ast.Compare) else None
    if not isinstance(lengths, ast.Name):
        return None
    given = _named_lengths(spot.file.enclosing(spot.function))
    copied = body.assigned_once(spot.function, lengths.id, body.at(lengths)) if lengths.id in given else None
    if not isinstance(copied, ast.Call) or not isinstance(copied.func, ast.Attribute) or copied.func.attr != "cpu":
        return None
    source = copied.func.value
    value = spot.file.project.values.of(source, spot.frame._replace(at=body.at(source)))
    return source if value.kind == "tensor" and value.on_device else None
