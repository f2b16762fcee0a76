"""Lists that repeat one number, as an index: `frames[:, [0] * length]`. A view repeats as well, without a copy."""

from __future__ import annotations

import ast


def repeated_list(index: ast.expr) -> int | None:
    """The number that a list repeats as often as something says, `[0] * n`; None for everything else."""
    if not isinstance(index, ast.BinOp) or not isinstance(index.op, ast.Mult) or not isinstance(index.left, ast.List):
        return None
    items = index.left.elts
    only = items[0] if len(items) == 1 else None
    return only.value if isinstance(only, ast.Constant) and type(only.value) is int else None


def instead_of(index: ast.expr) -> str:
    """What repeats one number of an axis without a copy, in words."""
    number = repeated_list(index)
    assert number is not None
    part = f"{number} : {number + 1}" if number >= 0 else f"{number}:"
    return f"take a slice of that axis, `{part}`, and `expand` it, or index with one tensor made on the device"
