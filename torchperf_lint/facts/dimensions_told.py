"""How many dimensions a tensor has, as a function tells that unpacks its shape, or tests how many there are.

batch, length, _ = x.shape                      assert mask.dim() == 2
if index.dim() == 0: ...                        if x.ndim != 1: raise ValueError(x)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

from torchperf_lint.facts.chains import chain
from torchperf_lint.facts.complaints import leaves
from torchperf_lint.facts.syntax import nodes_of
from torchperf_lint.facts.value import Frame

if TYPE_CHECKING:
    from torchperf_lint.facts.bodies import Body


def told(body: Body, name: str, frame: Frame) -> int | None:
    """How many dimensions what a name is bound to at a place has, by what its function unpacks or tests; else None."""
    function = body.functions.get(frame.function)
    if function is None:
        return None
    for statement, block in _statements(function):
        found = _shown(statement, name)
        if found is None:
            continue
        count, (start, end) = found
        inside = max(start, block[0]) <= frame.at[0] <= min(end, block[1])
        if inside and _is_bound_alike(body, name, frame, body.at(statement)):
            return count
    return _asked(body, function, name, frame)


def _asked(body: Body, function: ast.AST, name: str, frame: Frame) -> int | None:
    """What only a tensor with so many dimensions can be asked, in a function that tests nothing of the kind."""
    found = None
    for node in nodes_of(function):
        if not isinstance(node, ast.expr):
            continue
        if _asks_for_dimensions(node, name):
            return None
        count = _asked_of_matrices(node, name)
        if found is None and count is not None and _is_bound_alike(body, name, frame, body.at(node)):
            found = count
    return found


def _asked_of_matrices(node: ast.expr, name: str) -> int | None:
    """`x.H` and `torch.mm(x, y)` take two dimensions, `torch.bmm(x, y)` three."""
    if isinstance(node, ast.Attribute):
        return 2 if node.attr == "H" and chain(node.value) == name else None
    if not isinstance(node, ast.Call) or name not in map(chain, node.args[:2]):
        return None
    return {"torch.mm": 2, "torch.bmm": 3}.get(chain(node.func))


_END = 1 << 30
_Lines: TypeAlias = tuple[int, int]
_BLOCKS = ("body", "orelse", "finalbody")


def _statements(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Module) -> Iterator[tuple[ast.stmt, _Lines]]:
    """The statements of a function, and the lines of the block that each is in: what it shows may hold there only."""
    stack: list[tuple[list[ast.stmt], _Lines]] = [(function.body, (0, _END))]
    while stack:
        statements, lines = stack.pop()
        for statement in statements:
            yield statement, lines
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            for inner in (getattr(statement, field, None) for field in _BLOCKS):
                if inner:
                    alone = isinstance(statement, ast.With | ast.AsyncWith)
                    stack.append((inner, lines if alone else (inner[0].lineno, inner[-1].end_lineno or 0)))


def _is_bound_alike(body: Body, name: str, frame: Frame, there: tuple[int, int]) -> bool:
    """Whether a name is bound to the same at two places of a function."""
    here = {d.at for d in body.reaching(frame.function, name, frame.at) or ()}
    return here == {d.at for d in body.reaching(frame.function, name, there) or ()}


def _shown(node: ast.stmt, name: str) -> tuple[int, _Lines] | None:
    """How many dimensions a statement shows, and the lines on which that holds, where the name is bound alike."""
    if isinstance(node, ast.Assign):
        target = node.targets[0]
        unpacked = isinstance(target, ast.Tuple) and chain(node.value) in (f"{name}.shape", f"{name}.size")
        asked = isinstance(target, ast.Tuple) and _is_size(node.value, name)
        if not isinstance(target, ast.Tuple) or not (unpacked or asked):
            return None
        starred = any(isinstance(part, ast.Starred) for part in target.elts)
        return None if starred else (len(target.elts), (0, _END))
    if isinstance(node, ast.Assert):
        count = _tested(node.test, name, ast.Eq)
        return (count, (node.lineno, _END)) if count is not None else None
    if not isinstance(node, ast.If):
        return None
    count = _tested(node.test, name, ast.Eq)
    if count is not None:
        return count, (node.body[0].lineno, node.body[-1].end_lineno or 0)
    other = _tested(node.test, name, ast.NotEq)
    if other is None or not leaves(node.body):
        return None
    return other, ((node.body[-1].end_lineno or 0) + 1, _END)


def _is_size(node: ast.expr, name: str) -> bool:
    """`x.size()`."""
    return isinstance(node, ast.Call) and not node.args and chain(node.func) == f"{name}.size"


def _tested(test: ast.expr, name: str, operator: type[ast.cmpop]) -> int | None:
    """`n` of `x.dim() == n`, alone, or with `and` beside other tests where that is what has to hold."""
    if isinstance(test, ast.BoolOp):
        wanted = ast.And if operator is ast.Eq else ast.Or
        found = [_tested(part, name, operator) for part in test.values] if isinstance(test.op, wanted) else []
        return next((one for one in found if one is not None), None)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], operator):
        return None
    number, asked = test.comparators[0], test.left
    if not isinstance(number, ast.Constant) or type(number.value) is not int:
        return None
    return number.value if _asks_for_dimensions(asked, name) else None


def _asks_for_dimensions(node: ast.expr, name: str) -> bool:
    """`x.dim()`, `x.ndim`, `x.ndimension()`, `len(x.shape)`, `len(x.size())`."""
    if isinstance(node, ast.Attribute):
        return node.attr == "ndim" and chain(node.value) == name
    if not isinstance(node, ast.Call):
        return False
    if chain(node.func) == "len" and len(node.args) == 1:
        return chain(node.args[0]) == f"{name}.shape" or _is_size(node.args[0], name)
    return chain(node.func) in (f"{name}.dim", f"{name}.ndimension")
