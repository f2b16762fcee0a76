"""Names of attributes as texts: `f"index_{i}"` of `self.register_buffer(f"index_{i}", t)`, `getattr` and `setattr`.

A name that is put together is written with `{}` for what is not written out, and is one for all that it may be.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import TypeVar

from torchperf_lint.facts.syntax.literals import is_text
from torchperf_lint.patterns import pattern

T = TypeVar("T")

_FORMAT = pattern(r"%[-+ #0]*\d*[sdirx]")
_FIELD = pattern(r"\{[^{}]*\}")


def under(table: Mapping[str, list[T]], name: str) -> list[T]:
    """What a table holds under a name; else under those that are put together and may be that one, or the other way."""
    if name in table:
        return table[name]
    if "{}" in name:
        return [one for other, found in table.items() if "{}" not in other and _may_be(name, other) for one in found]
    return [one for other, found in table.items() if "{}" in other and _may_be(other, name) for one in found]


def _may_be(put_together: str, name: str) -> bool:
    """Whether `index_{}` may be that name: `index_0`, `index_left`; `conv{}` may be `conv1`, and no `converter`."""
    return re.fullmatch(_ANY.join(map(re.escape, put_together.split("{}"))), name) is not None


_ANY = r"(?:\d+|(?<=_)\w+|\w+(?=_))"


def written_name(node: ast.expr | None) -> str:
    """The text that names an attribute; nothing where no letter or digit of it is written out: `f"{space}_{key}"`.

    `index_{}` of `f"index_{i}"`, `"index_%d" % i`, `"index_{}".format(i)` and `"index_" + str(i)`.
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    name = _put_together(node) if node is not None else ""
    return name if name.replace("{}", "").strip("_") else ""


def _put_together(node: ast.expr) -> str:
    """A text that is put together, `{}` for each part that is not written out; nothing for what is no such text."""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and is_text(node.left):
        return _FORMAT.sub("{}", node.left.value)  # type: ignore[attr-defined]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _joined(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return _FIELD.sub("{}", node.func.value.value) if is_text(node.func.value) else ""  # type: ignore[attr-defined]
    return ""


def _joined(node: ast.BinOp) -> str:
    """`"index_" + str(i)`; what begins with something else than a text may be anything."""
    if is_text(node.left):
        start = node.left.value  # type: ignore[attr-defined]
    else:
        start = _joined(node.left) if isinstance(node.left, ast.BinOp) and isinstance(node.left.op, ast.Add) else ""
    return start + (node.right.value if is_text(node.right) else "{}") if start else ""  # type: ignore[attr-defined]
