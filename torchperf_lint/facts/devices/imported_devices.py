"""Devices that one module of the project names for the others: `from project.device import CPU`.

The module binds the name once, `CPU: Final = torch.device("cpu")`; what another one calls it, or a device in general,
does not tell that.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.outlines.records import END_OF_FILE
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values.value import HOST, Frame

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values



def is_imported_host(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether a name, or `devices.CPU`, is imported from a module that binds it once, and to the host."""
    first, _, rest = chain(node).partition(".") if isinstance(node, ast.Name | ast.Attribute) else ("", "", "")
    imported = values.index.outlines[frame.path].imports.get(first)
    if imported is None:
        return False
    module, _, name = f"{imported}.{rest}".rstrip(".").rpartition(".")
    path = values.index.module(module, frame.path) if module.strip(".") else None
    body = values.body(path) if path is not None else None
    bound = body.reaching(0, name, END_OF_FILE) if body is not None else None
    if path is None or bound is None or len(bound) != 1 or bound[0].how != "assign" or bound[0].block:
        return False
    if bound[0].value is None:
        return False
    found = values.of(bound[0].value, frame.hop(path, 0, bound[0].at))
    return found.kind == "torch_device" and found.device == HOST
