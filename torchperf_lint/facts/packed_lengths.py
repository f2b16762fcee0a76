"""Lengths that `pack_padded_sequence` takes on the host, and masks that are made of them there.

    lengths = mask.sum(1).cpu()
    some = lengths > 0                 # on the host, too: each use as an index copies it to the device
    packed = pack_padded_sequence(x[some], lengths[some])
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.chains import chain, last_part
from torchperf_lint.facts.enclosing import Enclosing
from torchperf_lint.facts.spots import Spot
from torchperf_lint.facts.syntax import names_of


def packed_lengths(around: Enclosing) -> Iterator[ast.expr]:
    """What a function gives as the lengths of packed sequences."""
    for call in around.of_kinds((ast.Call,)):
        if isinstance(call, ast.Call) and last_part(chain(call.func)) == "pack_padded_sequence":
            yield from call.args[1:2]
            yield from (k.value for k in call.keywords if k.arg == "lengths")


def mask_of_lengths(spot: Spot, index: ast.expr) -> ast.expr | None:
    """The tensor on the device that lengths are copied from, where an index is a mask made of the copy; else None."""
    body = spot.file.project.body(spot.file.path)
    if body is None or not isinstance(index, ast.Name):
        return None
    mask = body.assigned_once(spot.function, index.id, body.at(index))
    lengths = mask.left if isinstance(mask, ast.Compare) else None
    if not isinstance(lengths, ast.Name):
        return None
    given = {name for part in packed_lengths(spot.file.enclosing(spot.function)) for name in names_of(part)}
    copied = body.assigned_once(spot.function, lengths.id, body.at(lengths)) if lengths.id in given else None
    if not isinstance(copied, ast.Call) or not isinstance(copied.func, ast.Attribute) or copied.func.attr != "cpu":
        return None
    source = copied.func.value
    value = spot.file.project.values.of(source, spot.frame._replace(at=body.at(source)))
    return source if value.kind == "tensor" and value.on_device else None
