"""Numbers for arithmetic on the device, chosen by a test or read: `rate = self.rate if seen.sum() != 0 else 1.0`.

`torch.where` takes numbers as well as tensors, and a tensor without dimensions is as good a factor as a number, so
nothing of that has to be known on the host.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.patterns import pattern


def chooses_a_number(place: Place) -> bool:
    """Whether a test chooses between two numbers, of which nothing but arithmetic with tensors is made."""
    around = place.file.enclosing(place.function)
    choice = next(around.ancestors(place.expression), None)
    if not isinstance(choice, ast.IfExp) or choice.test is not place.expression:
        return False
    sides = (choice.body, choice.orelse)
    if not any(_is_number(side) for side in sides) or not all(_is_number(s) or _is_setting(place, s) for s in sides):
        return False
    assignment = next(around.ancestors(choice), None)
    if not isinstance(assignment, ast.Assign) or len(assignment.targets) != 1:
        return False
    target = assignment.targets[0]
    return isinstance(target, ast.Name) and _only_factor(place, target)


def only_computes(place: Place) -> bool:
    """Whether a number that is read is nothing but a factor or a term of tensors: `out * (1 - rate.item())`."""
    assert isinstance(place.expression, ast.expr)
    if _beside_a_tensor(place, place.expression):
        return True
    above = place.file.enclosing(place.function).ancestors(place.expression)
    assignment = next((node for node in above if not _is_arithmetic(node)), None)
    target = assignment.targets[0] if isinstance(assignment, ast.Assign) and len(assignment.targets) == 1 else None
    return isinstance(target, ast.Name) and _only_factor(place, target)


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _is_setting(place: Place, node: ast.expr) -> bool:
    """`self.momentum`, `alpha`: something that was passed or set, and is no tensor as far as anybody knows."""
    return isinstance(node, ast.Name | ast.Attribute) and place.file.value(node, place).kind not in ("tensor", "array")


def _is_arithmetic(node: ast.AST) -> bool:
    """Arithmetic, and a bound such as `max(n, 1)`, which `n.clamp(min=1)` is for tensors."""
    if isinstance(node, ast.Call):
        bound = isinstance(node.func, ast.Name) and node.func.id in ("max", "min") and len(node.args) == _A_PAIR
        return bound and any(map(_is_number, node.args))
    return isinstance(node, ast.BinOp)


_A_PAIR = 2
_FACTOR = pattern(r"(?:^|_)(?:avg_factor|factor|normali[sz]er|normali[sz]ation|denom(?:inator)?|divisor)$")
"""Names of parameters that losses are divided by."""


def _only_factor(place: Place, target: ast.Name) -> bool:
    """Whether every use of a name is a factor or a term, and one of them of a tensor or for a loss."""
    around = place.file.enclosing(place.function)
    found = False
    for name in around.parents:
        if isinstance(name, ast.Name) and name.id == target.id and isinstance(name.ctx, ast.Load):
            role = _role(place, name, target.id)
            if role is None:
                return False
            found = found or role
    return found


def _role(place: Place, use: ast.Name, name: str) -> bool | None:
    """Whether a use makes a number a factor of a tensor; None where it is used for something else than arithmetic."""
    if _beside_a_tensor(place, use):
        return True
    above = place.file.enclosing(place.function).ancestors(use)
    outer = next((node for node in above if not _is_arithmetic(node)), None)
    if isinstance(outer, ast.keyword):
        return True if outer.arg is not None and _FACTOR.search(outer.arg) else None
    if isinstance(outer, ast.Assign):  # `count = max(count, 1)`
        return False if [chain(t) for t in outer.targets] == [name] else None
    return False if isinstance(place.file.enclosing(place.function).parents[use], ast.BinOp) else None


def _beside_a_tensor(place: Place, use: ast.expr) -> bool:
    for parent in place.file.enclosing(place.function).ancestors(use):
        if not _is_arithmetic(parent):
            return False
        if isinstance(parent, ast.BinOp) and place.file.value(parent, place).kind == "tensor":
            return True
    return False
