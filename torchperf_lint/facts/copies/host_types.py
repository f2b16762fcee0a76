"""Conversions that name a type of the host on the way to the device: `torch.ones(n).type(torch.ByteTensor).to(device)`.

With nothing but a device given to the factory, `.type(torch.ByteTensor)` would copy the tensor down and `.to` up again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.copies.fresh import Fresh
from torchperf_lint.facts.files.source import Place, Site
from torchperf_lint.facts.syntax import torch_api as api

HOST_TYPES = {"Tensor": "torch.float", "FloatTensor": "torch.float", **api.LEGACY_DTYPES}
"""Types of tensors on the host -> the dtypes they stand for."""


class HostType(NamedTuple):
    """One such conversion."""

    type: str
    """The type of the host, `torch.ByteTensor`."""
    dtype: str
    """The dtype that it stands for, `torch.uint8`."""


def host_types(site: Site, fresh: Fresh) -> list[HostType]:
    """The conversions to types of the host between a factory and the move of what it makes, the last one first."""
    made = _made(site)
    if made is None or fresh.path != site.file.path:
        return []
    return [
        HostType(f"torch.{name}", HOST_TYPES[name])
        for call in _around(made, fresh.call)
        if (name := host_type(site, call)) is not None
    ]


def _made(site: Site) -> ast.expr | None:
    """What is moved; of a name, what alone it was bound to."""
    body = site.file.project.body(site.file.path)
    if not isinstance(site.receiver, ast.Name) or body is None:
        return site.receiver
    return body.assigned_once(site.function, site.receiver.id, site.start)


def _around(made: ast.expr, factory: ast.Call) -> Iterator[ast.Call]:
    """The calls that a factory's call is within, from the outermost on."""
    for call in ast.walk(made):
        if isinstance(call, ast.Call) and call is not factory and any(node is factory for node in ast.walk(call)):
            yield call


def host_type(site: Place, call: ast.Call) -> str | None:
    """`ByteTensor` of `x.type(torch.ByteTensor)` and `x.type("torch.ByteTensor")`."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "type" or len(call.args) != 1:
        return None
    (given,) = call.args
    if isinstance(given, ast.Constant):
        dotted = given.value if isinstance(given.value, str) else ""
    else:
        dotted = site.file.denotes(given, site) or ""
    package, _, name = dotted.rpartition(".")
    return name if package == "torch" and name in HOST_TYPES else None
