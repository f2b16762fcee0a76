"""What single statements do that bindings do not show: stores into containers and attributes, gradients."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_text
from torchperf_lint.facts.syntax.syntax import (
    BLOCKS,
    CHILDREN,
    LEAVES,
    blocks_of,
    children_of,
    side_by_side,
    targets_of,
)
from torchperf_lint.facts.syntax.written_names import written_name
from torchperf_lint.patterns import pattern

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_OWN = frozenset((*_DEFINITIONS, ast.Lambda))
"""What has a scope of its own."""
_ASSIGNMENTS = (ast.Assign, ast.AnnAssign)
_YIELDS = (ast.Yield, ast.YieldFrom)
_REGISTERS = pattern(r"register_(?:\w+_)?(?:buffer|parameter)$")
_STATE = "add_state"
_OF_SETATTR = 3
"""Arguments."""
_OF_TORCH = ("register_buffer", "register_parameter")


def self_assignments(own: str, statements: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.expr, bool]]:
    """(attribute, value, is registered) for each `self.attribute = value`, `self.register_buffer(...)`, `setattr`.

    `own`: what the function calls `self`; `statements`: all of it.
    """
    for node in statements:
        if isinstance(node, _ASSIGNMENTS) and node.value is not None:
            for target in targets_of(node):
                if not isinstance(target, ast.Name):
                    yield from _attributes_set(target, node.value, own)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            callee = chain(node.value.func)
            if callee == "setattr" or callee.startswith((f"{own}.", "super().")):
                yield from _registered(node.value, callee, own)
                yield from _set_by_name(node.value, callee, own)


def _set_by_name(call: ast.Call, callee: str, own: str) -> Iterator[tuple[str, ast.expr, bool]]:
    """`setattr(self, "name", value)`, and `self.add_module("name", module)`: what `self.name = value` does."""
    if call.keywords:
        return
    if callee == "setattr" and len(call.args) == _OF_SETATTR and chain(call.args[0]) == own:
        name, value = call.args[1:]
    elif callee in (f"{own}.add_module", f"{own}.register_module") and len(call.args) == _OF_SETATTR - 1:
        name, value = call.args
    else:
        return
    written = written_name(name)
    if written:
        yield written, value, False


def _registered(call: ast.Call, callee: str, own: str) -> Iterator[tuple[str, ast.expr, bool]]:
    """`self.register_buffer("name", tensor)` and `register_parameter`: both follow the module.

    So do those that a project's own helper registers, `self.register_empty_buffer("name")`, and the states of metrics,
    `self.add_state("count", default=torch.tensor(0))`.
    """
    who, _, what = callee.rpartition(".")
    if who not in (own, "super()") or not (_REGISTERS.match(what) or what == _STATE):
        return
    named = {k.arg: k.value for k in call.keywords}
    name = call.args[0] if call.args else named.get("name")
    if what == _STATE:
        default = call.args[1] if len(call.args) > 1 else named.get("default")
        written = written_name(name)
        if written and isinstance(default, ast.Call) and chain(default.func).startswith("torch."):
            yield written, default, True
        return
    value = call.args[1] if len(call.args) > 1 else named.get("tensor") or named.get("param")
    written = written_name(name)
    if written and (value is not None or what not in _OF_TORCH):
        yield written, value or call, True


def _attributes_set(target: ast.expr, value: ast.expr, own: str) -> Iterator[tuple[str, ast.expr, bool]]:
    """`self.a = value`, and each part of `self.a, self.b = value`."""
    if isinstance(target, ast.Attribute) and chain(target.value) == own:
        yield target.attr, value, False
    elif isinstance(target, ast.Tuple | ast.List):
        for part, item in unpacked(target, value):
            yield from _attributes_set(part, item, own)


def unpacked(target: ast.Tuple | ast.List, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Each part of a tuple that is assigned to, with what it gets: `f(x)[1]` for the second of `a, b = f(x)`."""
    items = side_by_side(target, value)
    if items is None:
        places = [ast.copy_location(ast.Constant(n), value) for n in range(len(target.elts))]
        items = [ast.copy_location(ast.Subscript(value, place, ast.Load()), value) for place in places]
    yield from zip(target.elts, items, strict=True)


def backward_target(call: ast.Call) -> ast.expr | None:
    """What a call computes gradients of: the receiver of `.backward()`, or what is handed to an engine's."""
    if not isinstance(call.func, ast.Attribute):
        return None
    if call.func.attr == "backward":
        return call.args[0] if call.args else call.func.value
    # Boxes, cameras and images are scaled as well.
    scales = call.func.attr == "scale" and "scaler" in last_part(chain(call.func.value)).lower()
    return call.args[0] if (scales or call.func.attr == "manual_backward") and call.args else None


def operands(node: ast.expr | None) -> Iterator[str]:
    """The chains that an arithmetic expression is made of."""
    stack = [] if node is None else [node]
    while stack:
        current = stack.pop()
        if isinstance(current, ast.BinOp):
            stack += [current.left, current.right]
        elif isinstance(current, ast.UnaryOp):
            stack.append(current.operand)
        elif isinstance(current, ast.Call) and isinstance(current.func, ast.Attribute):
            stack += [current.func.value] if not current.args or current.func.attr != "scale" else current.args
        elif isinstance(current, ast.Name | ast.Attribute | ast.Subscript):
            yield chain(current)


def stores(statements: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    """(container, value) for each `container[...] = v`, `container.append(v)` and `container.update({k: v})`.

    Several calls may share a line, `rows.append(i), columns.append(j)`.
    """
    for node in statements:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _stored(target, node.value)
        elif isinstance(node, ast.Expr):
            for call in node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]:
                yield from _put_in(call)


def _put_in(call: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if not isinstance(call, ast.Call) or len(call.args) != 1:
        return
    callee, given = chain(call.func), call.args[0]
    if callee.endswith(".append"):
        yield callee.removesuffix(".append"), given
    elif callee.endswith(".update") and isinstance(given, ast.Dict):
        yield from ((callee.removesuffix(".update"), value) for value in given.values)


def _stored(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """`container[...] = v`, and `means[t], stds[t] = v`."""
    if isinstance(target, ast.Subscript):
        yield chain(target.value), value
    elif isinstance(target, ast.Tuple | ast.List) and any(isinstance(part, ast.Subscript) for part in target.elts):
        for part, item in unpacked(target, value):
            if isinstance(part, ast.Subscript):
                yield chain(part.value), item


def named_stores(statements: Iterable[ast.stmt]) -> Iterator[tuple[str, str, ast.expr]]:
    """(container, key, value) for each `container["key"] = v`, in order."""
    for node in statements:
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if isinstance(target, ast.Subscript) and is_text(target.slice):
                yield chain(target.value), target.slice.value, node.value  # type: ignore[attr-defined]


def element_stores(statements: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.Subscript, ast.expr]]:
    """(name, where, value) for each `name[...] = value` among statements, `name[0][i] += value` too."""
    for node in statements:
        if isinstance(node, ast.Assign | ast.AugAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                bottom: ast.expr = target
                while isinstance(bottom, ast.Subscript):
                    bottom = bottom.value
                if isinstance(target, ast.Subscript) and isinstance(bottom, ast.Name):
                    yield bottom.id, target, node.value


def array_uses(body: Sequence[ast.stmt]) -> Iterator[tuple[str, int]]:
    """(name, line) where a name is used as arrays are.

    It has several indices, or is compared or computed with and the result asked a method or used as a mask. What an
    index of torch's picks from, `x[rows, torch.arange(n)]`, is told as `x` + `PICKED_BY_TORCH`, too; and what picks by
    its copy on the host, `table[x.cpu()]`, as `x` + `PICKS_BY_COPY`.
    """
    stack: list[Any] = list(body)
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is ast.Subscript:
            if isinstance(node.value, ast.Name) and isinstance(node.slice, ast.Tuple):
                parts = node.slice.elts
                if parts and (not isinstance(parts[0], ast.Constant) or len(parts) > 2):
                    yield node.value.id, node.lineno
                if any(isinstance(part, ast.Call) and chain(part.func) in INDICES_OF_TORCH for part in parts):
                    yield node.value.id + PICKED_BY_TORCH, node.lineno
            elif isinstance(node.slice, ast.Compare):
                yield from _operand_names(node.slice)
            elif isinstance(node.slice, ast.Call) and isinstance(node.slice.func, ast.Attribute):
                copied = node.slice.func
                if copied.attr == "cpu" and isinstance(copied.value, ast.Name):
                    yield copied.value.id + PICKS_BY_COPY, node.lineno
        elif kind is ast.Attribute and isinstance(node.value, _WITH_OPERATORS):
            yield from _operand_names(node.value)
        if kind not in LEAVES and kind not in _OWN:
            stack += CHILDREN[kind](node)


PICKED_BY_TORCH = "[torch]"
PICKS_BY_COPY = "[cpu()]"
_WITH_OPERATORS = (ast.Compare, ast.BinOp)
INDICES_OF_TORCH = frozenset({"torch.arange", "torch.randperm", "torch.randint"})


def _operand_names(node: ast.Compare | ast.BinOp) -> Iterator[tuple[str, int]]:
    """The name that a comparison is of, or an operator, but for `%` and `+`, which texts and lists know."""
    if isinstance(node, ast.Compare):
        parts = [node.left]
    else:
        parts = [node.left] if isinstance(node.op, ast.Mult | ast.Sub | ast.Div | ast.MatMult | ast.BitAnd) else []
    yield from ((part.id, part.lineno) for part in parts if isinstance(part, ast.Name))


def statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement of a scope, nested blocks included, nested definitions left out."""
    stack: list[ast.AST] = list(reversed(body))
    while stack:
        node = stack.pop()
        if isinstance(node, ast.stmt):
            yield node
        if type(node) in BLOCKS and not isinstance(node, _DEFINITIONS):
            stack += reversed(blocks_of(node))


def yields(body: Sequence[ast.stmt]) -> Iterator[tuple[ast.expr, bool]]:
    """(expression, whether `yield from`) for each value that a generator yields, in no order."""
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, _YIELDS) and node.value is not None:
            yield node.value, isinstance(node, ast.YieldFrom)
        if type(node) not in _OWN:
            stack += [child for child in children_of(node) if type(child) not in LEAVES]


def names_in(*nodes: ast.AST) -> set[str]:
    """The names and attribute chains in some expressions."""
    return {chain(n) for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute)}
