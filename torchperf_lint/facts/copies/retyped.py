"""Tensors of the device that a type of the host converts: `(x < p).type(torch.FloatTensor).to(x.device)`.

What names a type in this old way means the dtype; `torch.FloatTensor` is one of the host, so the tensor goes there,
and the device waits for what is uploaded again. Asked of what is known to be on the device, and goes back to it.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.copies.host_types import HOST_TYPES, host_type
from torchperf_lint.facts.copies.round_trips import round_trip
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.facts.values.value import DEVICE


def retyped(site: Site) -> ast.expr | None:
    """What a call of `type` takes to the host only to be uploaded again; None for all else."""
    if site.receiver is None or dtype_of_retyped(site) is None:
        return None
    value = site.file.value(site.receiver, site)
    if value.kind != "tensor" or value.device != DEVICE:
        return None
    return site.receiver if round_trip(site.file, site) is not None else None


def dtype_of_retyped(site: Site) -> str | None:
    """The dtype that `x.type(torch.FloatTensor)` means, `torch.float`; None for other calls."""
    name = host_type(site, site.call) if last_part(site.record.callee) == "type" else None
    return HOST_TYPES[name] if name is not None else None
