"""Indices and bounds that are read from a buffer of the module's settings, which its constructor had as numbers.

    self.register_buffer("periods", torch.tensor(config.periods))
    ...
    embeds[:, 2 : 2 + self.periods[0]]      # a wait for the device, for what the configuration says
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.constants.settled import settled_entry
from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.syntax.chains import chain


def is_kept_number(place: Place, node: ast.expr) -> bool:
    """Whether an index, or one of the numbers that it is added up of, is an entry of such a buffer."""
    if not place.file.mentions(("register_buffer",)):
        return False
    stack = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, ast.BinOp):
            stack += [part.left, part.right]
        elif _is_entry_of_self(part) and settled_entry(place, part):
            return True
    return False


def _is_entry_of_self(node: ast.expr) -> bool:
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Constant):
        return False
    return isinstance(node.value, ast.Attribute) and chain(node.value.value) == "self"
