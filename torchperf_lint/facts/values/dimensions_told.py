"""How many dimensions a tensor has, as a function tells that unpacks its shape, or tests how many there are.

batch, length, _ = x.shape                      assert mask.dim() == 2
if index.dim() == 0: ...                        if x.ndim != 1: raise ValueError(x)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from torchperf_lint.facts.outlines.complaints import leaves
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.syntax import nodes_of
from torchperf_lint.facts.values.value import Frame

if TYPE_CHECKING:
    from torchperf_lint.facts.bindings.bodies import Body

_END = 1 << 30
_Lines: TypeAlias = tuple[int, int]
_BLOCKS = ("body", "orelse", "finalbody")


def told(body: Body, name: str, frame: Frame) -> int | None:
    """How many dimensions what a name is bound to at a place has, by what its function unpacks or tests; else None."""
    if frame.function not in body.functions:
        return None
    telling = _telling(body, frame.function)
    for statement, block in telling.statements:
        found = _shown(statement, name)
        if found is None:
            continue
        count, (start, end) = found
        inside = max(start, block[0]) <= frame.at[0] <= min(end, block[1])
        if inside and _is_bound_alike(body, name, frame, body.at(statement)):
            return count
    if name in telling.tested:
        return None
    # What only a tensor with so many dimensions can be asked, in a function that tests nothing of the kind.
    asked = telling.asked.get(name, ())
    return next((count for node, count in asked if _is_bound_alike(body, name, frame, body.at(node))), None)


class _Telling(NamedTuple):
    """What may tell, in one function, how many dimensions tensors have, whatever they are called."""

    statements: list[tuple[ast.stmt, _Lines]]
    """Those that unpack something or test something, and the lines of the block that each is in."""
    tested: frozenset[str]
    """What is asked how many dimensions it has."""
    asked: dict[str, list[tuple[ast.expr, int]]]
    """Name -> what its tensor is asked, and how many dimensions that takes."""


_known: WeakKeyDictionary[Body, dict[int, _Telling]] = WeakKeyDictionary()
"""By function: dozens of names are asked about in each."""


def _telling(body: Body, function: int) -> _Telling:
    known = _known.setdefault(body, {})
    if function not in known:
        known[function] = _find_telling(body.functions[function])
    return known[function]


def _find_telling(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Module) -> _Telling:
    statements = [(statement, lines) for statement, lines in _statements(function) if _may_show(statement)]
    tested: set[str] = set()
    asked: dict[str, list[tuple[ast.expr, int]]] = {}
    for node in nodes_of(function):
        if type(node) is ast.Attribute or type(node) is ast.Call:
            tested.add(_asked_for_dimensions(node))
            for name, count in _asked_of_matrices(node):
                asked.setdefault(name, []).append((node, count))
    return _Telling(statements, frozenset(tested), asked)


def _may_show(statement: ast.stmt) -> bool:
    """Whether `_shown` may find something in a statement for some name."""
    if isinstance(statement, ast.Assign):
        return isinstance(statement.targets[0], ast.Tuple)
    return isinstance(statement, ast.Assert | ast.If)


_MATRICES = {"torch.mm": 2, "torch.bmm": 3}


def _asked_of_matrices(node: ast.Attribute | ast.Call) -> Iterator[tuple[str, int]]:
    """`x.H` and `torch.mm(x, y)` take two dimensions, `torch.bmm(x, y)` three."""
    if isinstance(node, ast.Attribute):
        if node.attr == "H":
            yield chain(node.value), 2
        return
    count = _MATRICES.get(chain(node.func))
    if count is not None:
        yield from ((name, count) for name in dict.fromkeys(map(chain, node.args[:2])))


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
    return number.value if _asked_for_dimensions(asked) == name else None


def _asked_for_dimensions(node: ast.expr) -> str:
    """`x` of `x.dim()`, `x.ndim`, `x.ndimension()`, `len(x.shape)`, `len(x.size())`; empty of anything else."""
    if isinstance(node, ast.Attribute):
        return chain(node.value) if node.attr == "ndim" else ""
    if not isinstance(node, ast.Call):
        return ""
    callee = chain(node.func)
    if callee == "len" and len(node.args) == 1:
        return _sized(node.args[0])
    name, _, method = callee.rpartition(".")
    return name if method in ("dim", "ndimension") else ""


def _sized(node: ast.expr) -> str:
    """`x` of `x.shape` and `x.size()`; empty of anything else."""
    if isinstance(node, ast.Call):
        return chain(node.func).removesuffix(".size") if not node.args and chain(node.func).endswith(".size") else ""
    written = chain(node)
    return written.removesuffix(".shape") if written.endswith(".shape") else ""
