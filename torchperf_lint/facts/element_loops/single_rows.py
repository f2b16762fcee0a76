"""Rows of tensors that a loop takes one by one as batches of one: `x[i : i + 1]`, `x[i].unsqueeze(0)`, `row[None]`."""

from __future__ import annotations

import ast
from functools import cached_property

from torchperf_lint.facts.constants.tracing import parts_of
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_literal, is_none
from torchperf_lint.facts.syntax.syntax import first_part, nodes_of

RowLoop = ast.For | ast.ListComp | ast.GeneratorExp
_MOVES = frozenset("to cuda float half bfloat16 double contiguous clone detach".split())
_COUNTS = frozenset({"range", "trange"})


class SingleRows:
    """Answers for one loop, by its syntax."""

    def __init__(self, loop: RowLoop) -> None:
        head = loop if isinstance(loop, ast.For) else loop.generators[0]
        self.target, self.iterated = head.target, head.iter
        self.roots: list[ast.AST] = [*loop.body] if isinstance(loop, ast.For) else [loop.elt]

    @cached_property
    def index(self) -> str | None:
        """The variable that numbers the rows: `i` of `range(len(x))` and of `enumerate(x)`."""
        first = self.target
        over = self.iterated
        if isinstance(over, ast.Call) and last_part(chain(over.func)) == "tqdm" and over.args:
            over = over.args[0]
        if not isinstance(over, ast.Call):
            return None
        name = chain(over.func)
        if name == "enumerate" and len(over.args) == 1 and isinstance(first, ast.Tuple):
            first = first_part(first)
        elif name not in _COUNTS or self.bound is None:
            return None
        return first.id if isinstance(first, ast.Name) else None

    @cached_property
    def bound(self) -> ast.expr | None:
        """How many rows there are: `n` of `range(n)` and `range(0, n)`; None for other steps and starts."""
        over = self.iterated
        if isinstance(over, ast.Call) and last_part(chain(over.func)) == "tqdm" and over.args:
            over = over.args[0]
        if not isinstance(over, ast.Call) or chain(over.func) not in _COUNTS:
            return None
        from_zero = len(over.args) == 2 and is_literal(over.args[0], 0)
        return over.args[-1] if len(over.args) == 1 or from_zero else None

    @cached_property
    def walked(self) -> dict[str, ast.expr]:
        """The variables that are rows, and what they are the rows of."""
        return {} if self.bound is not None else dict(parts_of(self.target, self.iterated))

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Everything that a turn evaluates."""
        return [node for root in self.roots for node in nodes_of(root)]

    @cached_property
    def bound_names(self) -> frozenset[str]:
        """The names that a turn binds, the loop's own among them."""
        roots = [self.target, *self.nodes]
        return frozenset(n.id for root in roots for n in nodes_of(root) if isinstance(n, ast.Name) and _is_set(n))

    @cached_property
    def _made(self) -> dict[str, ast.expr]:
        """What names are made of that a turn sets once."""
        stores = [n.id for n in self.nodes if isinstance(n, ast.Name) and _is_set(n)]
        plain = (n for n in self.nodes if isinstance(n, ast.Assign) and len(n.targets) == 1)
        made = {n.targets[0].id: n.value for n in plain if isinstance(n.targets[0], ast.Name)}
        return {name: value for name, value in made.items() if stores.count(name) == 1 and name not in self.walked}

    def rows_of(self, node: ast.expr, hops: int = 3) -> ast.expr | None:
        """The tensor of which an expression is one row, as a batch of one; None for anything else."""
        if isinstance(node, ast.Name):
            made = self._made.get(node.id)
            return self.rows_of(made, hops - 1) if made is not None and hops else None
        if isinstance(node, ast.Call):
            return self._of_call(node, hops)
        if not isinstance(node, ast.Subscript):
            return None
        if _adds_first(node.slice):
            return self._of_one(node.value, hops)
        return node.value if self._is_one_long(node.slice) else None

    def _of_call(self, node: ast.Call, hops: int) -> ast.expr | None:
        if not isinstance(node.func, ast.Attribute):
            return None
        if node.func.attr in _MOVES:
            return self.rows_of(node.func.value, hops)
        if node.func.attr != "unsqueeze" or not node.args:
            return None
        written_out = chain(node.func) == "torch.unsqueeze"
        where = node.args[-1]
        if not isinstance(where, ast.Constant) or where.value != 0 or len(node.args) != 1 + written_out:
            return None
        return self._of_one(node.args[0] if written_out else node.func.value, hops)

    def _of_one(self, node: ast.expr, hops: int) -> ast.expr | None:
        """The tensor of which an expression is one row: `x[i]`, `row`."""
        while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MOVES:
            node = node.func.value
        if isinstance(node, ast.Name):
            made = self._made.get(node.id)
            return self.walked.get(node.id) or (self._of_one(made, hops - 1) if made is not None and hops else None)
        one = isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name) and node.slice.id == self.index
        return node.value if one and isinstance(node, ast.Subscript) else None

    def _is_one_long(self, index: ast.expr) -> bool:
        """`i : i + 1`."""
        if not isinstance(index, ast.Slice) or index.step is not None or not isinstance(index.lower, ast.Name):
            return False
        upper = index.upper
        if index.lower.id != self.index or not isinstance(upper, ast.BinOp) or not isinstance(upper.op, ast.Add):
            return False
        sides = [upper.left, upper.right]
        named = any(isinstance(side, ast.Name) and side.id == self.index for side in sides)
        return named and any(is_literal(side, 1) for side in sides)


def _is_set(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _adds_first(index: ast.expr) -> bool:
    """`None`, and `None, ...`, `None, :`: an axis before all others."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return bool(parts and is_none(parts[0])) and all(
        (isinstance(part, ast.Constant) and part.value is Ellipsis)
        or (isinstance(part, ast.Slice) and part.lower is part.upper is part.step is None)
        for part in parts[1:]
    )
