"""The fix of `running += loss.item()` in a loop: add on the device, and read once behind the loop.

    running = 0.0                              running = 0.0
    for x, y in loader:                        for x, y in loader:
        running += loss.item()                     running += loss.detach()
    print(running / len(loader))               running = float(running)
                                               print(running / len(loader))

Behind the loop the name is the same kind of number that it was. No fix where anything reads it in the loop, where
the loop reads the same number in each turn anyway, or where it is not known whether it is a whole one. Unsafe: the
sum is rounded as the tensor's dtype is.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchperf_lint.errors import CannotFix
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.fixes.edits import Editor, fix_of
from torchperf_lint.facts.fixes.fractions import is_fraction
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.enclosing import Enclosing
from torchperf_lint.model import Edit, Fix, Safety

_Loop = ast.For | ast.While
_TRUTHS = frozenset("eq ne gt ge lt le greater less not_equal logical_and logical_or logical_not isclose bool".split())
_DETACHED = ("detach", "data")
_PLAIN = frozenset({"float", "int", "bool", "complex", "long"})
"""What converts a number and leaves it the same, as `.item()` does."""


class _Sum(NamedTuple):
    """`name += converted` in a loop."""

    name: str
    loop: _Loop
    """The outermost loop that the sum goes through."""
    whole: bool
    """Whether whole numbers are added, and the sum is one."""


def on_the_device(site: Site, converted: ast.expr) -> Fix | None:
    """The fix of a read, `converted.item()` or `float(converted)`, whose number is only added up; else None."""
    return fix_of(site, Safety.UNSAFE, lambda edit: _edits(edit, site, converted))


def _edits(edit: Editor, site: Site, converted: ast.expr) -> list[Edit]:
    function = site.call.func
    if (function.value is not converted) if isinstance(function, ast.Attribute) else chain(function) not in _PLAIN:
        raise CannotFix("a function of it is added")  # `total += math.exp(loss)`
    found = _sum(site, converted)
    kind = "int" if found.whole else "float"
    detached = found.whole or chain(converted).removesuffix("()").endswith(_DETACHED)
    if not isinstance(site.call.func, ast.Attribute):
        added = edit.replace(site.call, edit.operand(converted) + ("" if detached else ".detach()"))
    else:
        added = edit.unwrap(site.call) if detached else edit.rename_method(site.call, "detach")
    return [added, edit.insert_after(found.loop, f"{found.name} = {kind}({found.name})")]


def _sum(site: Site, converted: ast.expr) -> _Sum:
    """Raises CannotFix where the number does more than be added up."""
    body = site.file.project.body(site.file.path)
    around = site.file.enclosing(site.function)
    statement = around.statement(site.call)
    if body is None or not isinstance(statement, ast.AugAssign) or not isinstance(statement.op, ast.Add):
        raise CannotFix("it is not added to anything")
    if not isinstance(statement.target, ast.Name):
        raise CannotFix("it is not added to a local name")
    name = statement.target.id
    reaching = body.reaching(site.function, name, site.start) or []
    begun = [d for d in reaching if d.how in ("assign", "item")]
    if len(begun) != 1 or [d.how for d in reaching if d not in begun] != ["augmented"]:
        raise CannotFix("it does not begin in one place")
    zero = begun[0].value
    for position in begun[0].index:  # `hits, seen = 0, 0`
        zero = zero.elts[position] if isinstance(zero, ast.Tuple | ast.List) else None
    if not isinstance(zero, ast.Constant) or type(zero.value) not in (int, float) or zero.value:
        raise CannotFix("it does not begin with zero")
    whole = _scaled_whole(site, statement.value, _is_whole(site, converted)) and type(zero.value) is int
    if not whole and not _is_fraction(site, converted, type(zero.value)):
        raise CannotFix("what is added may be whole or not")
    loop = _outermost(around, statement, zero)
    _check_unread(around, loop, statement)
    _check_waits_nowhere_else(around, loop, site.call, converted)
    return _Sum(name, loop, whole)


def _scaled_whole(site: Site, added: ast.expr, whole: bool) -> bool:
    """Whether what is added is whole: the number itself, or it times or divided by a number of the host."""
    if added is site.call:
        return whole
    if not isinstance(added, ast.BinOp) or not isinstance(added.op, ast.Mult | ast.Div):
        raise CannotFix("it is not only added")
    sides = [added.left, added.right]
    if site.call not in sides or (isinstance(added.op, ast.Div) and added.left is not site.call):
        raise CannotFix("it is not only added")
    (other,) = [side for side in sides if side is not site.call]
    if site.file.value(other, site).kind not in ("plain", "unknown"):
        raise CannotFix("it is combined with what may be a tensor")
    if whole:
        raise CannotFix("what is added may be whole or not")
    return False


def _is_whole(site: Site, converted: ast.expr) -> bool:
    """Whether a tensor is known to hold a count: the sum of a comparison."""
    node = converted
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "sum":
        return False
    summed: ast.expr | None = node.func.value
    if isinstance(summed, ast.Name):
        body = site.file.project.body(site.file.path)
        summed = body.assigned_once(site.function, summed.id, site.start) if body is not None else None
    if isinstance(summed, ast.Call) and isinstance(summed.func, ast.Attribute):
        return summed.func.attr in _TRUTHS
    return isinstance(summed, ast.Compare)


def _is_fraction(site: Site, converted: ast.expr, begun: type) -> bool:
    """Whether the sum is a float: it begins as one, is made one, a loss by name, or gradients are taken of it."""
    if isinstance(site.call.func, ast.Name) and site.call.func.id == "int":
        return False
    if begun is float or isinstance(site.call.func, ast.Name):
        return True
    body = site.file.project.body(site.file.path)
    graded = body is not None and chain(converted) in body.backward_operands(site.function)
    return graded or is_fraction(site, converted, site.start)


# -- the loop ----------------------------------------------------------------------------------------------


def _outermost(around: Enclosing, statement: ast.stmt, zero: ast.expr) -> _Loop:
    """The outermost loop around a sum that its beginning stands before, in a block around the loop."""
    beginning = around.statement(zero)
    assert beginning is not None
    home = around.parents[beginning]
    node: ast.AST = statement
    loop: _Loop | None = None
    while node in around.parents and node is not home:
        if isinstance(node, _Loop):
            loop = node
        if isinstance(node, ast.Try) and loop is not None and _reads_later(node, statement):
            raise CannotFix("it is read where an exception may lead")
        node = around.parents[node]
    if node is not home or loop is None or beginning.lineno >= loop.lineno:
        raise CannotFix("it does not begin before its loop")
    return loop


def _reads_later(node: ast.Try, statement: ast.stmt) -> bool:
    later = [*node.handlers, *node.finalbody]
    return any(_named(part, statement) for part in later)


def _check_unread(around: Enclosing, loop: _Loop, statement: ast.stmt) -> None:
    """Nothing in the loop but the sum may name it, nor any function within the function."""
    inside = _named(loop, statement)
    if len(inside) != 1:
        raise CannotFix("it is read in the loop")
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
    nested = [n for part in around.top.body for n in ast.walk(part) if isinstance(n, functions)]
    if any(_named(inner, statement) for inner in nested):
        raise CannotFix("another function reads it")


def _check_waits_nowhere_else(around: Enclosing, loop: _Loop, call: ast.Call, converted: ast.expr) -> None:
    """Nothing in the loop but another sum may read the same number in each turn: then the host waits as before."""
    read = ast.unparse(converted).removesuffix(".detach()")
    for node in ast.walk(loop):
        if not isinstance(node, ast.Call) or node is call or node.args or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr != "item" or ast.unparse(node.func.value).removesuffix(".detach()") != read:
            continue
        inner: ast.AST = node
        while inner is not loop and not isinstance(inner, ast.If | ast.IfExp | ast.AugAssign):  # a sum may be moved
            inner = around.parents[inner]
        if inner is loop:
            raise CannotFix("the same number is read in each turn anyway")


def _named(node: ast.AST, statement: ast.stmt) -> list[ast.Name]:
    """Where a part of the code names what is summed up."""
    assert isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name)
    return [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == statement.target.id]
