"""Tests that choose between two cheap computations of tensors, as `torch.where` does without a wait.

    if norm > limit:                         x = torch.where(norm > limit, x * (limit / norm), x)
        x = x * (limit / norm)

Both sides only compute a few tensors element by element, and the tensors have the same shape, whichever side is
taken. So are the best that a search keeps, `if loss < best: best, kept = loss, x.clone()`. What sums up into another
shape, moves, converts, runs a module, leaves a loop, changes what Python keeps or
says something is no such choice.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from torchperf_lint.facts.element_loops.element_wise import IN_PLACE, ONE, Arithmetic, Shapes
from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.outlines.masking import is_cheap
from torchperf_lint.facts.reads.kept_best import is_bound_alike, is_kept_extreme
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import nodes_of

_MOST_STATEMENTS = 5
_MOST_OPERATIONS = 12
"""Kernels of a few microseconds each: more of them may cost what a wait costs."""
_RETURNED = "return"
_OF_WHOLE = frozenset({"equal", "allclose"})


def chooses_tensors(place: Place) -> bool:
    """Whether a test does nothing but to choose between tensors of one shape that are cheap to compute, both.

    `torch.equal` compares whole tensors on the host: who asks that spares work on tensors as large.
    """
    asked = place.expression
    if not isinstance(asked, ast.expr) or (isinstance(asked, ast.Call) and last_part(chain(asked.func)) in _OF_WHOLE):
        return False
    around = place.file.enclosing(place.function)
    choice = _choice(place)
    if isinstance(choice, ast.IfExp):
        return _is_between(place, choice)
    if choice is None or _asks_for_none(choice.test):
        return False
    other: Sequence[ast.stmt] = choice.orelse
    leaves = isinstance(choice.body[-1], ast.Return)
    if leaves and not other:
        other = _to_its_return(around.suite(choice)[around.place_in_suite(choice) + 1 :])
    ways = _Way(place), _Way(place)
    if not all(way.takes(block) for way, block in zip(ways, (choice.body, other), strict=True)):
        return False
    if sum(way.operations for way in ways) > _MOST_OPERATIONS:
        return False
    return _return_alike(*ways) if leaves else _bind_alike(place, choice, *ways)


def _to_its_return(block: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    last = next((i for i, statement in enumerate(block) if isinstance(statement, ast.Return)), len(block))
    return block[: last + 1]


def _choice(place: Place) -> ast.If | ast.IfExp | None:
    """What a test decides about: `if`, `a if t else b`; the test may be one of several, or be read by `.item()`."""
    node: ast.AST = place.expression
    for parent in place.file.enclosing(place.function).ancestors(node):
        if isinstance(parent, ast.If | ast.IfExp):
            return parent if parent.test is node else None
        if not isinstance(parent, ast.BoolOp | ast.UnaryOp | ast.Compare) and not _reads(parent):
            return None
        node = parent
    return None


def _reads(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("bool", "float", "int")


def _asks_for_none(test: ast.expr) -> bool:
    """`best is None or loss < best`: there may be nothing yet to choose."""
    either = [node for node in nodes_of(test) if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or)]
    compared = (part for node in either for part in nodes_of(node) if isinstance(part, ast.Compare))
    return any(isinstance(operator, ast.Is) for part in compared for operator in part.ops)


# -- conditional expressions ---------------------------------------------------------------------------


def _is_between(place: Place, choice: ast.IfExp) -> bool:
    """`x * 2 if x.max() > 1 else x`: tensors of one shape, or what the test compares, of one element, and a number."""
    known = Arithmetic(place, {})
    sides = [known.shapes(side) for side in (choice.body, choice.orelse)]
    if any(shapes is None for shapes in sides):
        return False
    first, second = (shapes or ONE for shapes in sides)
    if first & second:
        return True
    single = _compared(choice.test)
    alone = [side for side in (choice.body, choice.orelse) if ast.unparse(side) in single and known.is_tensor(side)]
    numbers = [side for side in (choice.body, choice.orelse) if isinstance(side, ast.Constant)]
    return len(alone) == 1 and len(numbers) == 1 and _is_computed_with(place, choice)


def _compared(test: ast.expr) -> set[str]:
    """What a test compares as it stands: that has one element, or there were no truth in it."""
    found = [node for node in nodes_of(test) if isinstance(node, ast.Compare)]
    return {ast.unparse(side) for node in found for side in (node.left, *node.comparators)}


def _is_computed_with(place: Place, choice: ast.IfExp) -> bool:
    """Whether what is chosen is an operand of arithmetic with a tensor: whatever else asks may want a number."""
    parent = next(place.file.enclosing(place.function).ancestors(choice), None)
    return isinstance(parent, ast.BinOp) and place.file.value(parent, place).kind == "tensor"


# -- branches ------------------------------------------------------------------------------------------


class _Way:
    """What one side of a branch computes."""

    def __init__(self, place: Place) -> None:
        self.known = Arithmetic(place, {})
        self.place = place
        self.bound: dict[str, ast.expr] = {}
        """What is bound, as source -> the target."""
        self.shapes: dict[str, Shapes] = {}
        self.operations = 0

    def takes(self, block: Sequence[ast.stmt]) -> bool:
        """Whether a side is cheap arithmetic and nothing else."""
        return len(block) <= _MOST_STATEMENTS and all(map(self._takes, block))

    def _takes(self, statement: ast.stmt) -> bool:
        self.operations += sum(isinstance(node, ast.BinOp | ast.Call | ast.Compare) for node in nodes_of(statement))
        if isinstance(statement, ast.Pass):
            return True
        if isinstance(statement, ast.If):
            return self._takes_either(statement)
        if isinstance(statement, ast.Return):
            return statement.value is not None and self._binds(_RETURNED, statement.value, statement.value)
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            return self._assigns(statement.targets[0], statement.value)
        if isinstance(statement, ast.AugAssign):
            return self._changes(statement.target, (_as_read(statement.target, statement), statement.value))
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.keywords:
            return False
        return call.func.attr in IN_PLACE and self._changes(call.func.value, (call.func.value, *call.args))

    def _takes_either(self, inner: ast.If) -> bool:
        """A choice within: it may be made on the device too, or on the host, where that knows the answer."""
        parts = [*inner.body, *inner.orelse]
        leaves = any(isinstance(part, ast.Return) for part in parts)
        return not leaves and is_cheap(inner.test) and all(map(self._takes, parts))

    def _binds(self, name: str, target: ast.expr, value: ast.expr) -> bool:
        shapes = Arithmetic(self.place, self.shapes).shapes(value)
        if shapes is None:
            return False
        self.bound[name], self.shapes[name] = target, shapes
        return True

    def _assigns(self, target: ast.expr, value: ast.expr) -> bool:
        if isinstance(target, ast.Name | ast.Attribute):
            return "?" not in chain(target) and self._binds(ast.unparse(target), target, value)
        if not isinstance(target, ast.Subscript):
            return False
        # An element of a tensor is written in place: `x[0] = torch.where(test, y, x[0])`.
        known = Arithmetic(self.place, self.shapes)
        return known.is_tensor(target.value) and known.is_plain_index(target.slice) and known.shapes(value) is not None

    def _changes(self, target: ast.expr, operands: tuple[ast.expr, ...]) -> bool:
        known = Arithmetic(self.place, self.shapes)
        if isinstance(target, ast.Subscript):
            return self._assigns(target, operands[-1])
        if not isinstance(target, ast.Name | ast.Attribute) or not known.is_tensor(target):
            return False
        if any(known.shapes(operand) is None for operand in operands):
            return False
        self.bound[ast.unparse(target)] = target
        self.shapes[ast.unparse(target)] = known.shapes(operands[0]) or ONE
        return True


def _return_alike(first: _Way, second: _Way) -> bool:
    """Whether both sides return tensors of one shape, and bind nothing but what they return is made of."""
    if any(_RETURNED not in way.bound for way in (first, second)):
        return False
    kept = [name for way in (first, second) for name in way.bound if name != _RETURNED and "." in name]
    return not kept and bool(first.shapes[_RETURNED] & second.shapes[_RETURNED])


def _bind_alike(place: Place, choice: ast.If, first: _Way, second: _Way) -> bool:
    """Whether what is read behind a branch is a tensor of one shape, whichever side was taken."""
    if any(_RETURNED in way.bound for way in (first, second)):
        return False
    names = [name for name in {**first.bound, **second.bound} if _is_read_outside(place, choice, name)]
    return (bool(names) or _writes_elements(choice)) and all(
        _is_alike(place, name, first, second) or is_kept_extreme(choice, name) or is_bound_alike(place, name)
        for name in names
    )


def _writes_elements(choice: ast.If) -> bool:
    targets = [t for s in (*choice.body, *choice.orelse) if isinstance(s, ast.Assign) for t in s.targets]
    return any(isinstance(target, ast.Subscript) for target in targets)


def _is_alike(place: Place, name: str, first: _Way, second: _Way) -> bool:
    target = first.bound.get(name) or second.bound[name]
    before = _before(place, target)
    shapes = [way.shapes[name] if name in way.bound else before for way in (first, second)]
    return all(shapes) and bool((shapes[0] or ONE) & (shapes[1] or ONE))


def _before(place: Place, target: ast.expr) -> Shapes | None:
    """The tensors whose shape a name or an attribute has before the branch; None where it is no tensor."""
    read = _as_read(target, place.expression)
    known = Arithmetic(place, {})
    return known.shapes(read) if known.is_tensor(read) else None


def _as_read(target: ast.expr, where: ast.AST) -> ast.expr:
    """A target as an expression that reads it, in another place."""
    read = ast.parse(ast.unparse(target), mode="eval").body
    for node in nodes_of(read):
        ast.copy_location(node, where)
    return read


def _is_read_outside(place: Place, choice: ast.If, name: str) -> bool:
    """Whether anything but the branch itself reads a name; an attribute others may read."""
    if "." in name:
        return True
    body = place.file.project.body(place.file.path)
    own = {id(node) for statement in (*choice.body, *choice.orelse) for node in nodes_of(statement)}
    reads = body.reads(place.function, name) if body is not None else ()
    return any(id(read) not in own for read in reads)
