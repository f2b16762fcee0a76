"""Tensors that the device computes anew at every step from nothing but numbers that no step changes.

    steps = torch.arange(self.dim // 2, device=x.device)
    freqs = torch.exp(-math.log(10000.0) * steps / (self.dim // 2))

Each operation is a kernel of its own; a buffer would hold the result.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torchperf_lint.facts.constants.configured import LITERAL, loosest
from torchperf_lint.facts.constants.constants import constancy
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import Spot, hot_nodes
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.arguments import unpacks
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values.value import Value

_KERNELS = 3
"""Fewer are not worth a buffer."""
_HOPS = 12
_FACTORIES = api.FILL_FACTORIES - {"empty", "empty_strided", "empty_permuted"}
_LOOKS = frozenset(
    "view reshape unsqueeze squeeze expand expand_as permute transpose t movedim swapaxes unbind chunk split".split()
)
"""Methods that show the same numbers in another shape."""
_COMPUTES = frozenset(
    "exp log sqrt rsqrt sin cos tan tanh pow abs neg clamp clip sigmoid softmax tril triu outer cat stack meshgrid "
    "float double long int half bool mul add sub div floor ceil round repeat repeat_interleave flatten sum mean cumsum "
    "reciprocal square masked_fill where roll flip diag diagonal ne eq lt gt le ge logical_not logical_and".split()
)
"""What gives the same for the same, in a kernel or a few."""


class Table(NamedTuple):
    """A tensor that is the same at every step, for one shape of the input at least."""

    spot: Spot
    name: str
    kernels: int
    kind: str
    """LITERAL, CONFIGURED, SHAPE or GIVEN: what it depends on."""
    value: Value


class _Weight(NamedTuple):
    kernels: int
    kind: str


def constant_tables(file: SourceFile) -> Iterator[Table]:
    """The names that hot code binds to such tensors; of those that are made of each other only the last."""
    found: list[Table] = []
    for spot in hot_nodes(file, ast.Assign):
        statement = spot.expression
        assert isinstance(statement, ast.Assign)
        target = statement.targets[0]
        if (
            spot.hot.kind == "data"
            or spot.hot.optional
            or len(statement.targets) != 1
            or not isinstance(target, ast.Name)
        ):
            continue
        if _is_kept(file, spot):
            continue
        weight = _Scale(file, spot).weigh(statement.value, spot.start, 0)
        if weight is None or weight.kernels < _KERNELS:
            continue
        value = file.value(statement.value, spot)
        if value.kind == "tensor" and value.on_device:
            found.append(Table(spot, target.id, weight.kernels, weight.kind, value))
    for table in found:
        if not any(_is_made_of(other, table) for other in found):
            yield table


def _is_kept(file: SourceFile, spot: Spot) -> bool:
    """Whether a test asks for an attribute that the branch then sets: `if not exists(self.bias): ...`."""
    for around in file.enclosing(spot.function).around(spot.expression):
        if not isinstance(around, ast.If):
            continue
        asked = {
            part.attr if isinstance(part, ast.Attribute) else str(part.value)
            for part in ast.walk(around.test)
            if isinstance(part, ast.Constant) or (isinstance(part, ast.Attribute) and chain(part.value) == "self")
        }
        kept = ast.unparse(around)
        if any(f"self.{name} = " in kept or f"register_buffer('{name}'" in kept for name in asked):
            return True
    return False


def _is_made_of(other: Table, table: Table) -> bool:
    if other is table or other.spot.function != table.spot.function or other.spot.start <= table.spot.start:
        return False
    statement = other.spot.expression
    return isinstance(statement, ast.Assign) and any(
        isinstance(node, ast.Name) and node.id == table.name for node in ast.walk(statement.value)
    )


class _Scale:
    """Weighs the expressions of one place."""

    def __init__(self, file: SourceFile, spot: Spot) -> None:
        self.file = file
        self.spot = spot

    def weigh(self, node: ast.expr, at: tuple[int, int], depth: int) -> _Weight | None:
        """How many kernels an expression runs, and what it depends on; None where a step may change it."""
        if depth > _HOPS:
            return None
        if isinstance(node, ast.Call):
            return self._call(node, at, depth)
        if isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare):
            number = self._number(node, at)
            return number or self._together(_operands(node), at, depth, 1)
        if isinstance(node, ast.List | ast.Tuple):
            return self._together(node.elts, at, depth, 0)
        if isinstance(node, ast.Subscript) and self._number(node, at) is None:
            return self.weigh(node.value, at, depth + 1) if _is_plain(node.slice) else None
        number = self._number(node, at)
        return number if number is not None or not isinstance(node, ast.Name) else self._name(node, at, depth)

    def _number(self, node: ast.expr, at: tuple[int, int]) -> _Weight | None:
        frame = self.spot.frame._replace(at=at)
        kind = constancy(self.file.project.values, node, frame)
        return _Weight(0, kind) if kind is not None else None

    def _name(self, node: ast.Name, at: tuple[int, int], depth: int) -> _Weight | None:
        body = self.file.project.body(self.file.path)
        if body is None or body.stored_items(self.spot.function, node.id):
            return None
        if any(use.endswith("_") for use, _ in body.uses(self.spot.function, node.id)):
            return None
        reaching = body.reaching(self.spot.function, node.id, at)
        if not reaching or len(reaching) != 1 or reaching[0].how not in ("assign", "item") or not reaching[0].value:
            return None
        return self.weigh(reaching[0].value, reaching[0].at, depth + 1)

    def _together(self, nodes: Sequence[ast.expr], at: tuple[int, int], depth: int, own: int) -> _Weight | None:
        weights = [self.weigh(node, at, depth + 1) for node in nodes]
        known = [weight for weight in weights if weight is not None]
        if len(known) != len(weights):
            return None
        return _Weight(own + sum(w.kernels for w in known), loosest([w.kind for w in known] or [LITERAL]))

    def _call(self, node: ast.Call, at: tuple[int, int], depth: int) -> _Weight | None:
        denoted = self.file.denotes(node.func, self.spot) or ""
        denoted = "" if "()" in denoted else denoted
        name = denoted.removeprefix("torch.")
        given = [*node.args, *(k.value for k in node.keywords if k.arg not in ("device", "dtype", "indexing"))]
        if unpacks(node):
            return None
        if denoted.startswith("torch.") and name in _FACTORIES:
            numbers = self._together(given, at, depth, 1)
            return numbers if numbers is not None and numbers.kernels == 1 else None
        if denoted.startswith("torch.") and name in _COMPUTES:
            return self._together(given, at, depth, 1)
        if not isinstance(node.func, ast.Attribute) or denoted:
            return self._number(node, at)
        if node.func.attr in _LOOKS:
            return self.weigh(node.func.value, at, depth + 1)
        if node.func.attr in _COMPUTES:
            return self._together([node.func.value, *given], at, depth, 1)
        return self._number(node, at)


def _operands(node: ast.BinOp | ast.UnaryOp | ast.Compare) -> list[ast.expr]:
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    return [node.operand] if isinstance(node, ast.UnaryOp) else [node.left, *node.comparators]


def _is_plain(index: ast.expr) -> bool:
    """Slices, None and numbers: what shows a part."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return all(isinstance(part, ast.Slice | ast.Constant) or chain(part) == "..." for part in parts)
