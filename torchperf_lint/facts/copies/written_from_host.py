"""Numbers of the host that are written into a tensor on the device: `gain[2:6] = torch.tensor(shape)[[3, 2, 3, 2]]`."""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchperf_lint.facts.copies.host_data import Upload, constant_upload, made_on_host
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.expressions_written import of_part
from torchperf_lint.facts.values.value import DEVICE

_MAKERS = frozenset({"tensor", "as_tensor", "asarray"})


class Written(NamedTuple):
    """The copy that an assignment is."""

    upload: Upload
    into: ast.Subscript
    """What is assigned to, which is where a run sees the copy."""


def written_from_host(site: Site) -> Written | None:
    """The copy that writing what a call makes on the host into a tensor on the device is; None where it is none.

    One number is no copy: torch fills the place with it.
    """
    if any(keyword.arg in ("device", None) for keyword in site.call.keywords):
        return None
    values = site.file.project.values
    statement = site.file.enclosing(site.function).statement(site.call)
    if (
        not isinstance(statement, ast.Assign)
        or len(statement.targets) != 1
        or not _comes_of(statement.value, site.call)
    ):
        return None
    target = statement.targets[0]
    if not isinstance(target, ast.Subscript):
        return None
    made = made_on_host(values, site.call, site.frame)
    into = site.file.value(target.value, site)
    if made is None or made.factory not in _MAKERS or into.kind != "tensor" or into.device != DEVICE:
        return None
    upload = constant_upload(values, site.call, site.frame, of_part(target.value, "device"))
    return Written(upload, target) if upload is not None and not upload.scalar else None


def _comes_of(node: ast.expr, made: ast.Call) -> bool:
    """Whether an expression is what a call makes, cut or converted."""
    while node is not made:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in api.DERIVING:
            node = node.func.value
        else:
            return False
    return True
