"""What `nn.DataParallel` and `DistributedDataParallel` wrap: `net.module` is the model that they were given."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.syntax.arguments import keyword
from torchperf_lint.facts.values.value import Frame, Value
from torchperf_lint.patterns import pattern

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

PARALLEL = pattern(r"^torch\.nn\.(?:parallel\.(?:distributed\.|data_parallel\.)?)?(?:Distributed)?DataParallel$")
MODULE = "module"
"""The name of the first parameter of both, and of the attribute."""


def wrapping(values: Values, node: ast.Call, wrapper: Value, frame: Frame) -> Value:
    """A wrapper that a call makes, with the model that it is given."""
    given = node.args[0] if node.args else keyword(node, MODULE)
    model = values.of(given, frame) if given is not None and not isinstance(given, ast.Starred) else None
    return wrapper._replace(item=model) if model is not None and model.kind == "module" else wrapper


def wrapped(base: Value, name: str) -> Value | None:
    """What an attribute of a wrapper gives, where it is the model in it."""
    return base.item if name == MODULE and base.kind == "module" else None
