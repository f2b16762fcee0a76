"""Expressions written out, for messages, and for advice that can be pasted: `(z @ z.t()).device`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

_WHOLE = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)
_COMPARING: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
_COMPUTING: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Mod: "%",
    ast.FloorDiv: "//",
}
_CONSTANTS = (str, bytes, int, float, type(None))


def as_written(node: ast.expr) -> str:
    """`ast.unparse`, in a tenth of its time of what needs no parentheses, as most that is asked about: `len(x) > 1`."""
    return _plainly(node, _SIMPLE) or ast.unparse(node)


def of_part(node: ast.expr, name: str) -> str:
    """An attribute of an expression, in parentheses where they are needed: `.device` of `a @ b` is none of `b`."""
    text = as_written(node)
    return f"{text}.{name}" if isinstance(node, _WHOLE) else f"({text}).{name}"


# What follows gives nothing for what it cannot write, and whatever holds that gives nothing either.
_Writers = dict[type[ast.expr], Callable[[Any], str]]


def _plainly(node: ast.expr, writers: _Writers) -> str:
    writer = writers.get(type(node))
    return writer(node) if writer is not None else ""


def _name(node: ast.Name) -> str:
    return node.id


def _attribute(node: ast.Attribute) -> str:
    base = _plainly(node.value, _PRIMARY)
    return f"{base}.{node.attr}" if base else ""


def _subscript(node: ast.Subscript) -> str:
    base, index = _plainly(node.value, _PRIMARY), _plainly(node.slice, _INDICES)
    return f"{base}[{index}]" if base and index else ""


def _range(node: ast.Slice) -> str:
    bounds = [node.lower, node.upper] if node.step is None else [node.lower, node.upper, node.step]
    told = ["" if bound is None else _plainly(bound, _OPERANDS) for bound in bounds]
    return ":".join(told) if all(text or bound is None for text, bound in zip(told, bounds, strict=True)) else ""


def _several_indices(node: ast.Tuple) -> str:
    return _listed([_plainly(part, _INDEX) for part in node.elts]) if len(node.elts) > 1 else ""


def _tuple(node: ast.Tuple) -> str:
    told = _listed([_plainly(part, _SIMPLE) for part in node.elts]) if len(node.elts) > 1 else ""
    return f"({told})" if told else ""


def _list(node: ast.List) -> str:
    told = _listed([_plainly(part, _SIMPLE) for part in node.elts])
    return f"[{told}]" if told or not node.elts else ""


def _call(node: ast.Call) -> str:
    base = _plainly(node.func, _PRIMARY)
    if not base or not (node.args or node.keywords):
        return f"{base}()" if base else ""
    given = _listed([*(_plainly(each, _SIMPLE) for each in node.args), *map(_keyword, node.keywords)])
    return f"{base}({given})" if given else ""


def _keyword(node: ast.keyword) -> str:
    value = _plainly(node.value, _SIMPLE) if node.arg is not None else ""
    return f"{node.arg}={value}" if value else ""


def _listed(parts: list[str]) -> str:
    return ", ".join(parts) if all(parts) else ""


def _constant(node: ast.Constant) -> str:
    if node.kind is not None or not isinstance(node.value, _CONSTANTS):
        return ""
    told = repr(node.value)
    return "" if isinstance(node.value, float) and "n" in told else told  # `inf`, which is written `1e309`


def _computed(node: ast.BinOp) -> str:
    """Of two that hold together more closely: `i % n`."""
    operator = _COMPUTING.get(type(node.op), "")
    left, right = _plainly(node.left, _ATOMS), _plainly(node.right, _ATOMS)
    return f"{left} {operator} {right}" if left and operator and right else ""


def _compared(node: ast.Compare) -> str:
    left = _plainly(node.left, _OPERANDS)
    sides = [_plainly(side, _OPERANDS) for side in node.comparators]
    if not left or not all(sides):
        return ""
    told = (f" {_COMPARING[type(op)]} {side}" for op, side in zip(node.ops, sides, strict=True))
    return left + "".join(told)


def _negative(node: ast.UnaryOp) -> str:
    inner = _plainly(node.operand, _ATOMS) if isinstance(node.op, ast.USub) else ""
    return f"-{inner}" if inner else ""


def _denied(node: ast.UnaryOp) -> str:
    inner = _plainly(node.operand, _DENIED) if isinstance(node.op, ast.Not) else ""
    return f"not {inner}" if inner else _negative(node)


def _joined(node: ast.BoolOp) -> str:
    """Python writes parentheses around all comparisons but the first two of `and`, and the first three of `or`."""
    joins_all = isinstance(node.op, ast.And)
    bare = 2 if joins_all else 3
    parts = [_plainly(part, _DENIED if place < bare else _ATOMS) for place, part in enumerate(node.values)]
    return (" and " if joins_all else " or ").join(parts) if all(parts) else ""


_PRIMARY: _Writers = {ast.Name: _name, ast.Attribute: _attribute, ast.Call: _call, ast.Subscript: _subscript}
"""What an attribute, an entry or a call may be of."""
_ATOMS: _Writers = {**_PRIMARY, ast.Constant: _constant, ast.List: _list, ast.Tuple: _tuple}
"""What stands in no other parentheses than its own, wherever it is."""
_OPERANDS: _Writers = {**_ATOMS, ast.BinOp: _computed, ast.UnaryOp: _negative}
"""What stands in none beside `==`."""
_INDEX: _Writers = {**_OPERANDS, ast.Slice: _range}
_INDICES: _Writers = {**_INDEX, ast.Tuple: _several_indices}
_DENIED: _Writers = {**_OPERANDS, ast.Compare: _compared}
"""What stands in none after `not`."""
_SIMPLE: _Writers = {**_DENIED, ast.UnaryOp: _denied, ast.BoolOp: _joined}
"""What stands in none by itself, nor between commas."""
