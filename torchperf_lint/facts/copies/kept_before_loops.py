"""Tensors that a function has on the host before its loop begins, whatever gave them: a choice, a helper, a download.

    weights = torch.as_tensor(given) if given is not None else weights_of(table)
    for start in range(0, len(x), size):
        out.append(model(x[start : start + size].to(device)) * weights.to(device))
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.values.value import HOST, Value, tensor
from torchperf_lint.model import Confidence


def kept_before_loop(site: Site, receiver: ast.Name, begins: Position) -> Value | None:
    """What a name holds that the function bound before a loop, where that is a tensor on the host for certain."""
    body = site.file.project.body(site.file.path)
    bound = body.reaching(site.function, receiver.id, site.start) if body is not None else None
    if not bound or any(d.how != "assign" or d.at >= begins for d in bound):
        return None
    value = site.file.value(receiver, site)
    if value.kind != "tensor" or value.device != HOST or value.confidence is not Confidence.CERTAIN:
        return None
    return tensor(HOST, f"{value.because}, on the host and before the loop")
