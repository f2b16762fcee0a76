"""Random numbers that numpy draws, by nothing but numbers: `np.random.normal(0, 1, (n, 100))`.

The device draws as many without a copy. What is drawn of elements, with weights, or by a generator of one's own, whose
seed is wanted, is left alone; and so is what the host uses besides.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.syntax.arguments import keyword
from torchperf_lint.facts.values.value import Frame

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_SIZE = {
    "rand": 0, "randn": 0, "random": 0, "random_sample": 0, "standard_normal": 0, "permutation": 0,
    "normal": 2, "uniform": 2, "randint": 2,
}  # fmt: skip
"""numpy.random's function -> the position of the argument without which it draws a single number."""
_THERE = {
    "randn": "torch.randn", "normal": "torch.randn", "standard_normal": "torch.randn", "randint": "torch.randint",
    "permutation": "torch.randperm",
}  # fmt: skip
_KEEP = frozenset("astype copy reshape flatten ravel".split())
"""Methods of arrays that give the same numbers."""
_MAX_DEPTH = 6
_NUMBERS = frozenset({"plain", "unknown"})


def drawn_array(values: Values, node: ast.expr, frame: Frame, depth: int = 0) -> str | None:
    """The function of torch that draws on the device what numpy draws here, `torch.rand`; else None."""
    if depth > _MAX_DEPTH:
        return None
    if isinstance(node, ast.Name):
        return _named(values, node, frame, depth)
    if isinstance(node, ast.BinOp):
        either = [(drawn_array(values, part, frame, depth + 1), other) for part, other in _sides(node)]
        return next((drawn for drawn, other in either if drawn and values.of(other, frame).kind == "plain"), None)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    if node.func.attr in _KEEP:
        return drawn_array(values, node.func.value, frame, depth + 1)
    thing = values.thing(node.func, frame)
    drawn = thing.dotted if thing is not None and thing.kind == "external" else ""
    package, _, name = drawn.rpartition(".")
    if package != "numpy.random" or name not in _SIZE or not _is_of_numbers(values, node, name, frame):
        return None
    return _THERE.get(name, "torch.rand")


def _sides(node: ast.BinOp) -> tuple[tuple[ast.expr, ast.expr], ...]:
    return (node.left, node.right), (node.right, node.left)


def _named(values: Values, node: ast.Name, frame: Frame, depth: int) -> str | None:
    """Of a name that is bound once, as often as it is read, and read nowhere else: what besides the copy uses the
    numbers needs them there, and what was drawn before the loop is to stay the same."""
    bound = bound_for_this(values, node, frame)
    body = values.body(frame.path)
    if bound is None or body is None:
        return None
    return drawn_array(values, bound, frame._replace(at=body.at(bound)), depth + 1)


def bound_for_this(values: Values, node: ast.Name, frame: Frame) -> ast.expr | None:
    """What a name is bound to that is read once, here, in the same turn, and has no second name; else None."""
    body = values.body(frame.path)
    if body is None:
        return None
    bound = body.assigned_once(frame.function, node.id, body.at(node))
    if bound is None or len(body.reads(frame.function, node.id)) != 1:
        return None
    around, here = (body.block_of(frame.function, at) for at in (body.at(bound), body.at(node)))
    if [part for part in around if part[1] == "loop"] != [part for part in here if part[1] == "loop"]:
        return None
    places = [d.at for found in body.definitions(frame.function).values() for d in found if d.value is bound]
    return bound if len(places) == 1 else None


def _is_of_numbers(values: Values, node: ast.Call, name: str, frame: Frame) -> bool:
    """Whether several are drawn, by bounds or moments that are numbers."""
    if any(isinstance(part, ast.Starred) for part in node.args) or any(k.arg is None for k in node.keywords):
        return False
    position = _SIZE[name]
    if len(node.args) <= position and keyword(node, "size") is None:
        return False
    numbers = node.args if name in ("rand", "randn", "permutation") else node.args[:position]
    numbers = [*numbers, *(k.value for k in node.keywords if k.arg not in ("size", "dtype"))]
    if name == "permutation":  # of a number; of an array it shuffles the rows
        return values.of(node.args[0], frame).kind == "plain"
    return all(values.of(number, frame).kind in _NUMBERS for number in numbers)
