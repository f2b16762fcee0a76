"""Slices of a length that the host knows, wherever they begin: `x[i : i + 1]`, `x[:, start : start + 16]`.

The shape of the result does not hang on the number, so the device can gather it: `x.index_select(0, i.view(1))`.
"""

from __future__ import annotations

import ast


def begins_window(part: ast.Slice, is_plain: bool) -> bool:
    """Whether a slice has its lower bound, plus a number, as its upper one.

    `is_plain`: whether what is added is known to be a number of the host; a literal is one in any case.
    """
    length = window_length(part)
    return length is not None and (is_plain or isinstance(length, ast.Constant))


def window_length(part: ast.Slice) -> ast.expr | None:
    """What a slice adds to its lower bound to get its upper one; None for other slices."""
    lower, upper = part.lower, part.upper
    if lower is None or part.step is not None or not isinstance(upper, ast.BinOp) or not isinstance(upper.op, ast.Add):
        return None
    sides = [upper.left, upper.right]
    rest = [side for side in sides if ast.dump(side) != ast.dump(lower)]
    return rest[0] if len(rest) == 1 else None
