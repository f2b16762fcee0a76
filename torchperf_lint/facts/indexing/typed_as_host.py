"""Indices that a conversion to a type of old takes to the host: `x.type(torch.LongTensor)` is a tensor there.

    slot = (times * 288).type(torch.LongTensor)           # copies to the host, and waits for that
    return self.embedding[slot]                           # copies it up again
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.copies.host_types import HOST_TYPES, host_type
from torchperf_lint.facts.files.spots import Spot
from torchperf_lint.facts.values.value import HOST


def typed_as_host(spot: Spot, index: ast.expr) -> tuple[str, str] | None:
    """What an index is that is such a conversion, or a name for one, in words, and what to write instead.

    None for what is on the host anyway, where the conversion copies nothing.
    """
    values, body, frame = spot.file.project.values, spot.file.project.body(spot.file.path), spot.frame
    if isinstance(index, ast.Name) and body is not None:
        bound = body.assigned_once(spot.function, index.id, body.at(index))
        if bound is None:
            return None
        index, frame = bound, frame.back(body.at(bound))
    if not isinstance(index, ast.Call) or not isinstance(index.func, ast.Attribute) or index.keywords:
        return None
    name = host_type(spot, index)
    value = values.of(index.func.value, frame) if name is not None else None
    if name is None or value is None or value.kind != "tensor" or value.device == HOST:
        return None
    return (
        f"`.type(torch.{name})` copies the index to the host, which waits for that",
        f"convert it where it is: `.to({HOST_TYPES[name]})`",
    )
