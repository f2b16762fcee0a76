"""Numbers for arithmetic on the device, chosen by a test or read: `rate = self.rate if seen.sum() != 0 else 1.0`.

`torch.where` takes numbers as well as tensors, and a tensor without dimensions is as good a factor as a number, so
nothing of that has to be known on the host.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.source import Place


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
    assignment = next(place.file.enclosing(place.function).ancestors(place.expression), None)
    target = assignment.targets[0] if isinstance(assignment, ast.Assign) and len(assignment.targets) == 1 else None
    return isinstance(target, ast.Name) and _only_factor(place, target)


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _is_setting(place: Place, node: ast.expr) -> bool:
    """`self.momentum`, `alpha`: something that was passed or set, and is no tensor as far as anybody knows."""
    return isinstance(node, ast.Name | ast.Attribute) and place.file.value(node, place).kind not in ("tensor", "array")


def _only_factor(place: Place, target: ast.Name) -> bool:
    """Whether every use of a name is a factor or a term, and one of them of a tensor."""
    around = place.file.enclosing(place.function)
    uses = [n for n in around.parents if isinstance(n, ast.Name) and n.id == target.id and n is not target]
    if not uses or any(not isinstance(around.parents[use], ast.BinOp) for use in uses):
        return False
    return any(_beside_a_tensor(place, use) for use in uses)


def _beside_a_tensor(place: Place, use: ast.expr) -> bool:
    for parent in place.file.enclosing(place.function).ancestors(use):
        if not isinstance(parent, ast.BinOp):
            return False
        if place.file.value(parent, place).kind == "tensor":
            return True
    return False
