"""Masks of the parts of a data set: `data.train_mask` of torch_geometric, `graph.ndata["val_mask"]` of DGL.

Both libraries, and the data sets they load, keep booleans under these names; indices are called `train_idx`.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.syntax.literals import is_text
from torchperf_lint.patterns import pattern

_NAME = pattern(r"^(?:train|val|valid|test)_mask$")


def is_split_mask(node: ast.expr) -> bool:
    """Whether an attribute or an entry is by its name the mask of one part of a data set."""
    if isinstance(node, ast.Attribute):
        return _NAME.match(node.attr) is not None
    key = node.slice if isinstance(node, ast.Subscript) else None
    return isinstance(key, ast.Constant) and is_text(key) and _NAME.match(str(key.value)) is not None
