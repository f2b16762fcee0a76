"""What goes by the name of Lightning's Fabric, which a program of its own loop calls for what a trainer would do.

    fabric.backward(loss)
    fabric.clip_gradients(model, optimizer, max_norm=1.0)     raises unless told not to: the norm is read
    fabric.log_dict({"loss": loss})                           reads each tensor, even without a logger
    fabric.barrier()
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.patterns import pattern

_FABRIC = pattern(r"(?:^|\.)_?fabric$")


def is_fabric(node: ast.expr | None) -> bool:
    """Whether an expression is a Fabric by its name: `fabric`, `self.fabric`."""
    return node is not None and is_named_fabric(chain(node))


def is_named_fabric(written: str) -> bool:
    """Whether a chain of names ends in that of a Fabric."""
    return bool(_FABRIC.search(written))
