"""Branches that ask whether a mask is empty, around writes through that mask: those do nothing when it is."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import NamedTuple

from torchperf_lint.facts.syntax.arguments import arguments
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import names_of

_UNWRAPPING = frozenset({"bool", "int", "float"})
_SHAPING = frozenset("unsqueeze view reshape expand expand_as view_as bool to squeeze type_as repeat".split())
_ELEMENTWISE = frozenset("clamp clip abs exp log sqrt rsqrt square neg reciprocal sigmoid tanh float detach".split())
_COMPARING = frozenset("eq ne gt ge lt le isnan isinf isfinite logical_and logical_or logical_not".split())
_FILLING = frozenset({"masked_fill", "masked_scatter"})


class Known(NamedTuple):
    """What is known of the expressions around a branch."""

    bound: Callable[[ast.Name], ast.expr]
    """What a name was bound to."""
    is_number: Callable[[ast.expr], bool]
    """Whether an expression is a plain number: `x[m] = 0` fills, where `x[m] = y` waits for the size of `m` anyway."""


def asks_if_empty(node: ast.If, asked: ast.expr, known: Known, rest: Sequence[ast.stmt] = ()) -> bool:
    """Whether `asked`, a part of the branch's test, is of a mask without which the whole branch does nothing.

    Or, where the branch leaves, the `rest` of its block: `if not m.any(): return x`, then `x[m] = 0` and `return x`.
    """
    if node.orelse:
        return False
    if len(node.body) == 1 and isinstance(node.body[0], ast.Return | ast.Continue):
        mask = _empty(_resolved(node.test, known.bound)) if _holds(node.test, asked) else ""
        return _does_nothing(_before_same_exit(rest, node.body[0]), mask, known)
    parts = (_resolved(part, known.bound) for part in _conjuncts(node.test) if _holds(part, asked))
    part = next(parts, None)
    if part is None:
        return False
    masks = _masks(_mask(part), known)
    return any(_does_nothing(node.body, mask, known) for mask in masks) or _fills_by_the_same(node.body, part, known)


def mask_asked(test: ast.expr) -> str:
    """The mask, as source, that a test asks to be empty or not: `m` of `m.any()` and `m.sum() == 0`; empty if none."""
    return _mask(test) or _empty(test)


def _masks(mask: str, known: Known) -> list[str]:
    """A mask, and where that is a count of what is set, the test whether it counts any: `n > 0`."""
    bound = known.bound(ast.Name(mask, ast.Load())) if mask.isidentifier() else None
    return [mask, f"{mask} > 0", f"{mask} != 0"] if isinstance(bound, ast.Call) and _counts(bound) else [mask]


def _counts(call: ast.Call) -> bool:
    """`(x == y).sum(2)`, `torch.sum(x.eq(y), 2)`, `torch.count_nonzero(x, 1)`: never below zero."""
    name = last_part(chain(call.func))
    if name == "count_nonzero":
        return True
    if name != "sum" or not isinstance(call.func, ast.Attribute):
        return False
    summed = call.args[0] if chain(call.func.value) == "torch" and call.args else call.func.value
    if isinstance(summed, ast.Call):
        return last_part(chain(summed.func)) in _COMPARING
    return isinstance(summed, ast.Compare)


def _fills_by_the_same(block: Sequence[ast.stmt], test: ast.expr, known: Known) -> bool:
    """`ragged = (lengths != n).any()`, `mask = steps >= lengths[:, None]`: a fill by what the test has compared."""
    asked = known.bound(test) if isinstance(test, ast.Name) else test
    if _reduced(asked, {"any"}) == "" or not isinstance(asked, ast.Call) or not block:
        return False
    compared = next((part for part in ast.walk(asked) if isinstance(part, ast.Compare)), None)
    own = _names(compared)
    for statement in block:
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if not isinstance(target, ast.Subscript) or not known.is_number(statement.value):  # type: ignore[attr-defined]
            return False
        mask = known.bound(target.slice) if isinstance(target.slice, ast.Name) else None
        if not isinstance(mask, ast.Compare) or not own & _names(mask):
            return False
    return True


def _names(node: ast.expr | None) -> set[str]:
    return names_of(node) if node is not None else set()


def _does_nothing(block: Sequence[ast.stmt], mask: str, known: Known) -> bool:
    """Whether a block only writes through a mask."""
    written = [bool(mask) and _is_through(statement, mask, known) for statement in block]
    return any(written) and all(w or _only_prepares(s) for w, s in zip(written, block, strict=True))


def _before_same_exit(rest: Sequence[ast.stmt], early: ast.stmt) -> Sequence[ast.stmt]:
    """What a block does before it leaves as an early exit does; empty where it leaves otherwise."""
    if isinstance(early, ast.Continue):
        return rest
    return rest[:-1] if rest and ast.unparse(rest[-1]) == ast.unparse(early) else ()


def _resolved(test: ast.expr, bound: Callable[[ast.Name], ast.expr]) -> ast.expr:
    if isinstance(test, ast.UnaryOp):
        return ast.UnaryOp(test.op, _resolved(test.operand, bound))
    return bound(test) if isinstance(test, ast.Name) else test


def _conjuncts(test: ast.expr) -> list[ast.expr]:
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def _holds(part: ast.expr, asked: ast.expr) -> bool:
    return any(node is asked for node in ast.walk(part))


# -- which mask a test is about ------------------------------------------------------------------------


def _mask(test: ast.expr) -> str:
    """The mask, as source, that a test finds to have an element set: of `not m.all()` that is `~m`."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        reduced = _reduced(test.operand, {"all"})
        return f"~{reduced}" if reduced else ""
    if isinstance(test, ast.Compare):
        return _reduced(test.left, {"any", "sum", "count_nonzero"}) if _more_than_none(test) else ""
    return _reduced(test, {"any", "sum", "count_nonzero"})


def _empty(test: ast.expr) -> str:
    """The mask that a test finds to have no element set."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _reduced(test.operand, {"any", "sum", "count_nonzero"})
    if isinstance(test, ast.Compare):
        none = len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq) and ast.unparse(test.comparators[0]) == "0"
        return _reduced(test.left, {"sum", "count_nonzero"}) if none else ""
    reduced = _reduced(test, {"all"})
    return f"~{reduced}" if reduced else ""


def _more_than_none(test: ast.Compare) -> bool:
    """`m.sum() > 0`, `m.sum() != 0`, `m.sum() >= 1`."""
    if len(test.ops) != 1 or not isinstance(test.comparators[0], ast.Constant):
        return False
    form = (type(test.ops[0]), test.comparators[0].value)
    return form in ((ast.Gt, 0), (ast.NotEq, 0), (ast.GtE, 1))


def _reduced(node: ast.expr, by: set[str]) -> str:
    """`m` of `m.any()`, `torch.any(m)`, `bool(m.any().item())`."""
    while isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr == "item":
            node = node.func.value
        elif isinstance(node.func, ast.Name) and node.func.id in _UNWRAPPING and len(node.args) == 1:
            node = node.args[0]
        else:
            break
    if not isinstance(node, ast.Call) or node.keywords or not isinstance(node.func, ast.Attribute):
        return ""
    if node.func.attr not in by:
        return ""
    of_module = chain(node.func.value) == "torch"
    if len(node.args) != (1 if of_module else 0):
        return ""
    return ast.unparse(node.args[0] if of_module else node.func.value)


# -- what is written through it ------------------------------------------------------------------------


def _is_through(statement: ast.stmt, mask: str, known: Known) -> bool:
    """Whether a statement changes nothing where the mask is empty."""
    if isinstance(statement, ast.Expr):
        call = statement.value
        return isinstance(call, ast.Call) and _fills(call, mask, "_") and is_cheap(call)
    if isinstance(statement, ast.AugAssign):
        if _is_selected(statement.target, mask):
            return _is_picked(statement.value, mask, known)
        return is_cheap(statement.value) and _joins(statement.op, statement.value, mask)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or not is_cheap(statement.value):
        return False
    filled = _is_selected(statement.targets[0], mask) and _is_picked(statement.value, mask, known)
    return filled or _keeps_the_rest(statement.targets[0], statement.value, mask)


def _is_selected(target: ast.expr, mask: str) -> bool:
    """`x[m]`, `x[m, 0]`, `x[:, m]`."""
    if not isinstance(target, ast.Subscript):
        return False
    parts = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    return any(_is_mask(part, mask) for part in parts)


def _is_picked(value: ast.expr, mask: str, known: Known) -> bool:
    """A number, or arithmetic of what the same mask picks: `x[m] = y[m] * 2` is `torch.where(m, y * 2, x)`."""
    if isinstance(value, ast.BinOp):
        return _is_picked(value.left, mask, known) and _is_picked(value.right, mask, known)
    if isinstance(value, ast.UnaryOp):
        return _is_picked(value.operand, mask, known)
    if isinstance(value, ast.Subscript) and _is_selected(value, mask):
        return isinstance(value.value, ast.Name | ast.Attribute)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        return _is_picked_by_call(value, value.func, mask, known) or known.is_number(value)
    return known.is_number(value)


def _is_picked_by_call(call: ast.Call, method: ast.Attribute, mask: str, known: Known) -> bool:
    """`(y[m] / z[m].clamp(min=e[m])).view(-1, 1)`: what works element by element, or gives another shape."""
    if method.attr in _SHAPING:
        return _is_picked(method.value, mask, known)
    if method.attr not in _ELEMENTWISE or chain(method.value) == "torch":
        return False
    given = arguments(call)
    return all(_is_picked(part, mask, known) for part in (method.value, *given))


def _keeps_the_rest(target: ast.expr, value: ast.expr, mask: str) -> bool:
    """`x = torch.where(m, a, x)`, `x = x.masked_fill(m, 0)`, `x = x | m`: `x` stays what it is where `m` is not set."""
    written = ast.unparse(target)
    if isinstance(value, ast.BinOp):
        return ast.unparse(value.left) == written and _joins(value.op, value.right, mask)
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    if _fills(value, mask):
        return ast.unparse(value.func.value) == written
    if chain(value.func) != "torch.where" or len(value.args) != 3 or not _is_mask(value.args[0], mask):
        return False
    # What is chosen for a part of `x[...]` was a part of it before.
    return isinstance(target, ast.Subscript) or ast.unparse(value.args[2]) == written


def _fills(call: ast.Call, mask: str, suffix: str = "") -> bool:
    names = {name + suffix for name in _FILLING}
    return last_part(chain(call.func)) in names and bool(call.args) and _is_mask(call.args[0], mask)


def _joins(op: ast.operator, other: ast.expr, mask: str) -> bool:
    """`x | m` and `x & ~m`."""
    if isinstance(op, ast.BitOr):
        return _is_mask(other, mask)
    inverted = isinstance(other, ast.UnaryOp) and isinstance(other.op, ast.Invert)
    return isinstance(op, ast.BitAnd) and inverted and _is_mask(other.operand, mask)  # type: ignore[attr-defined]


def _is_mask(node: ast.expr, mask: str) -> bool:
    """The mask itself, or with another shape: `m[:, None]`, `m.unsqueeze(-1)`."""
    if mask.startswith("~") and isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        return _is_mask(node.operand, mask[1:])
    while ast.unparse(node) != mask:
        if isinstance(node, ast.Subscript) and not _has_values(node.slice):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SHAPING:
            node = node.func.value
        else:
            return False
    return True


def _has_values(index: ast.expr) -> bool:
    """Whether an index picks elements: not `[:, None]`, `[..., None]`."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return not all(isinstance(p, ast.Slice) or (isinstance(p, ast.Constant) and p.value in (None, ...)) for p in parts)


# -- what the branch would save ------------------------------------------------------------------------


def _only_prepares(statement: ast.stmt) -> bool:
    """An intermediate result of the writes; what a module or another function computes is worth a branch."""
    return (
        isinstance(statement, ast.Assign)
        and all(isinstance(target, ast.Name) for target in statement.targets)
        and is_cheap(statement.value)
    )


def is_cheap(node: ast.expr) -> bool:
    """Only torch's functions and methods of values at hand: a few operations on the device."""
    for call in ast.walk(node):
        if not isinstance(call, ast.Call):
            continue
        head = chain(call.func).partition(".")[0]
        if isinstance(call.func, ast.Name) and call.func.id not in _BUILTINS:
            return False
        own = isinstance(call.func, ast.Attribute) and head in ("self", "cls") and chain(call.func).count(".") == 1
        getter = last_part(chain(call.func)).startswith("get_") and not call.args
        if own and not getter:
            return False
    return True


_BUILTINS = frozenset({"cast", "len", "float", "int", "min", "max", "abs", "range", "tuple", "list"})
