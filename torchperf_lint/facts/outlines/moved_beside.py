"""Moves to where a tensor is, `torch.zeros(3).to(points)`, which ask that for its device without a word of it."""

from __future__ import annotations

import ast
import re

from torchperf_lint.patterns import pattern

_NO_TENSOR = pattern(
    r"dev(?:ice)?s?$|device|gpu|cuda|(?:^|_)rank$|dtype|precision$|type$|format|^(?:target|where|dest|destination|place|"
    r"location|accelerator|args|kwargs|half|int|bool|long|double|complex|float\d*|bf?loat16|fp\d+|bf\d+)$|^[a-w]$",
    re.IGNORECASE,
)
"""Names of devices and dtypes, which `.to` takes as well."""


MOVES = (".to", ".type_as")
"""How chains of methods end that do."""


def moved_beside(node: ast.Call) -> tuple[tuple[str, str, str], ...]:
    """The mention of what something is moved to, as far as that may be a tensor."""
    function = node.func
    if not isinstance(function, ast.Attribute) or function.attr not in ("to", "type_as"):
        return ()
    if len(node.args) != 1 or not isinstance(node.args[0], ast.Name):
        return ()
    name = node.args[0].id
    moved = function.attr == "type_as" or (not node.keywords and not _NO_TENSOR.search(name))
    return (("device", name, ""),) if moved else ()
