"""Expressions written out: for messages, for advice that can be pasted, `(z @ z.t()).device`, and to compare them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

_WHOLE = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)


def as_written(node: ast.expr) -> str:
    """`ast.unparse`, in a fifth of its time of names, calls, comparisons and the like, as nine of ten are."""
    return plainly_written(node) or ast.unparse(node)


def plainly_written(node: ast.expr) -> str:
    """The text of an expression of the usual kinds, in which nothing needs parentheses; empty for all others."""
    if type(node) is ast.Name:
        return node.id
    write = _WRITERS.get(type(node))
    return "" if write is None else write(node)


def _operand(node: ast.expr) -> str:
    """The text of what needs no parentheses beside a sign."""
    bare = type(node) in _OPERANDS or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub))
    return plainly_written(node) if bare else ""


def _side(node: ast.expr) -> str:
    """The text of one side of a comparison."""
    return _binary(node) if isinstance(node, ast.BinOp) else _operand(node)


def _all(nodes: Sequence[ast.expr]) -> str:
    texts = [plainly_written(node) for node in nodes]
    return ", ".join(texts) if all(texts) else ""


def _attribute(node: ast.Attribute) -> str:
    of = plainly_written(node.value) if isinstance(node.value, _WHOLE) else ""
    return f"{of}.{node.attr}" if of else ""


def _call(node: ast.Call) -> str:
    function = plainly_written(node.func) if isinstance(node.func, _WHOLE) else ""
    texts = [plainly_written(argument) for argument in node.args]
    for keyword in node.keywords if all(texts) else ():
        value = plainly_written(keyword.value) if keyword.arg else ""
        texts.append(f"{keyword.arg}={value}" if value else "")
    return f"{function}({', '.join(texts)})" if function and all(texts) else ""


def _subscript(node: ast.Subscript) -> str:
    of = plainly_written(node.value) if isinstance(node.value, _WHOLE) else ""
    several = isinstance(node.slice, ast.Tuple) and len(node.slice.elts) > 1
    index = _all(node.slice.elts) if several else _index(node.slice)  # type: ignore[attr-defined]
    return f"{of}[{index}]" if of and index else ""


def _index(node: ast.expr) -> str:
    return plainly_written(node) if isinstance(node, _BARE_IN_BRACKETS) else _operand(node)


def _slice(node: ast.Slice) -> str:
    """`1:`, `:n`, `i:j`; a step is no usual thing."""
    lower = "" if node.lower is None else plainly_written(node.lower)
    upper = "" if node.upper is None else plainly_written(node.upper)
    unusual = node.step is not None or (node.lower and not lower) or (node.upper and not upper)
    return "" if unusual else f"{lower}:{upper}"


def _list(node: ast.List) -> str:
    parts = _all(node.elts)
    return f"[{parts}]" if parts or not node.elts else ""


def _tuple(node: ast.Tuple) -> str:
    parts = _all(node.elts) if len(node.elts) > 1 else ""
    return f"({parts})" if parts else ""


def _constant(node: ast.Constant) -> str:
    if node.value is Ellipsis:
        return "..."
    if isinstance(node.value, float):
        text = repr(node.value)
        return "" if "inf" in text else text
    return "" if node.kind or not isinstance(node.value, _WRITTEN_ALIKE) else repr(node.value)


def _compare(node: ast.Compare) -> str:
    left, right = _side(node.left), _side(node.comparators[0]) if len(node.ops) == 1 else ""
    return f"{left} {_COMPARISONS[type(node.ops[0])]} {right}" if left and right else ""


def _binary(node: ast.BinOp) -> str:
    sign = _SIGNS.get(type(node.op))
    left, right = (_operand(node.left), _operand(node.right)) if sign else ("", "")
    return f"{left} {sign} {right}" if left and right else ""


def _turned(node: ast.UnaryOp) -> str:
    if isinstance(node.op, ast.USub):
        number = plainly_written(node.operand) if type(node.operand) in _OPERANDS else ""
        return f"-{number}" if number else ""
    text = _beside(node.operand, _NOT) if isinstance(node.op, ast.Not) else ""
    return f"not {text}" if text else ""


def _joined(node: ast.BoolOp) -> str:
    """`ast.unparse` puts more and more in parentheses the further behind it stands: `a and (not b)`."""
    both = isinstance(node.op, ast.And)
    texts = [_beside(value, level) for level, value in enumerate(node.values, _NOT if both else _AND)]
    return (" and " if both else " or ").join(texts) if all(texts) else ""


def _beside(node: ast.expr, level: int) -> str:
    """The text of a part of a test, in parentheses where it binds less than what is around it."""
    if type(node) in _OPERANDS:
        return plainly_written(node)
    if isinstance(node, ast.Compare):
        binds = _COMPARE
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        binds = _NOT
    elif isinstance(node, ast.BoolOp):
        binds = _AND if isinstance(node.op, ast.And) else _OR
    else:
        return ""
    text = plainly_written(node)
    return f"({text})" if text and level > binds else text


_OR, _AND, _NOT, _COMPARE = range(4)
"""How much tests bind, least first."""
_WRITTEN_ALIKE = (str, int, type(None))
_BARE_IN_BRACKETS = (ast.Slice, ast.BinOp)


_COMPARISONS: dict[type[ast.cmpop], str] = {
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
_SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.BitOr: "|",
}
_OPERANDS = frozenset((*_WHOLE, ast.Constant, ast.Tuple, ast.List))
_WRITERS: dict[type[ast.expr], Callable[[Any], str]] = {
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.Tuple: _tuple,
    ast.List: _list,
    ast.Constant: _constant,
    ast.Compare: _compare,
    ast.BinOp: _binary,
    ast.UnaryOp: _turned,
    ast.BoolOp: _joined,
}


def of_part(node: ast.expr, name: str) -> str:
    """An attribute of an expression, in parentheses where they are needed: `.device` of `a @ b` is none of `b`."""
    text = as_written(node)
    return f"{text}.{name}" if isinstance(node, _WHOLE) else f"({text}).{name}"
