"""Where a value goes in the function that computes it: every call that gets it, or what is computed of it.

    fake = generator(noise)
    score = critic(torch.cat([fake, real]))
    loss = score.mean()
    loss.backward()

From `generator(noise)` the calls of `cat`, `critic`, `mean` and `backward` are reached; none through `.detach()`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.syntax.chains import chain

_ENDS = frozenset(
    "detach detach_ data item tolist numpy argmax argmin shape size dim ndim device dtype grad requires_grad grad_fn "
    "append_to long bool int eq ne gt lt ge le".split()
)
"""Attributes and methods that no gradient passes."""
_TAKES = frozenset("print len float int str bool repr isinstance range format".split())
"""Functions that give no tensor."""
_STEPS = 300


class Reached(NamedTuple):
    """A call that a value gets to."""

    call: ast.Call
    given: ast.expr
    """The argument that holds it, or what the method is called on."""


def reached(
    file: SourceFile, function: int, start: ast.expr, passes: Callable[[Reached], bool] | None = None
) -> list[Reached]:
    """The calls that get a value of a function, in no order; not behind those that `passes` says no to."""
    return list(_Flow(file, function).run(start, passes))


def is_handed_back(file: SourceFile, function: int, start: ast.expr) -> bool:
    """Whether a function returns a value, or what is computed of it."""
    flow = _Flow(file, function)
    return any(isinstance(flow.around.parents.get(node), ast.Return) for node in flow.nodes(start))


class _Flow:
    def __init__(self, file: SourceFile, function: int) -> None:
        self.file, self.function = file, function
        self.around = file.enclosing(function)

    def run(self, start: ast.expr, passes: Callable[[Reached], bool] | None) -> Iterator[Reached]:
        stack, seen = [start], {start}
        for _ in range(_STEPS):
            if not stack:
                return
            node = stack.pop()
            for then in self._next(node):
                if then in seen:
                    continue
                seen.add(then)
                found = Reached(then, node) if isinstance(then, ast.Call) else None
                if found is not None:
                    yield found
                if found is None or passes is None or passes(found):
                    stack.append(then)

    def nodes(self, start: ast.expr) -> Iterator[ast.expr]:
        """The expressions that hold the value."""
        stack, seen = [start], {start}
        while stack and len(seen) < _STEPS:
            node = stack.pop()
            yield node
            then = [one for one in self._next(node) if one not in seen]
            seen.update(then)
            stack += then

    def _next(self, node: ast.expr) -> list[ast.expr]:
        """What holds the value next."""
        parents = self.around.parents
        inner: ast.AST = node
        parent = parents.get(inner)
        while isinstance(parent, ast.keyword | ast.Starred):
            inner, parent = parent, parents.get(parent)
        if isinstance(parent, ast.Attribute):
            call = parents.get(parent)
            if parent.attr in _ENDS:
                return []
            return [call] if isinstance(call, ast.Call) and call.func is parent else [parent]
        if isinstance(parent, ast.Call):
            return [] if inner is parent.func or chain(parent.func) in _TAKES else [parent, *self._kept_by(parent)]
        if isinstance(parent, ast.withitem):
            return self._held_by(parent.optional_vars) if parent.optional_vars else []
        if isinstance(parent, ast.Assign):
            return [use for target in parent.targets for use in self._held_by(target)]
        if isinstance(parent, ast.AugAssign | ast.AnnAssign) or (isinstance(parent, ast.For) and node is parent.iter):
            return self._held_by(parent.target)
        if isinstance(parent, ast.Tuple | ast.List):
            return self._in_a_tuple(parent, node)
        if isinstance(parent, ast.Subscript):
            return [parent] if parent.value is node else []
        if isinstance(parent, ast.IfExp):
            return [] if parent.test is node else [parent]
        return [parent] if isinstance(parent, ast.BinOp | ast.UnaryOp | ast.Dict | ast.NamedExpr | ast.BoolOp) else []

    def _in_a_tuple(self, held: ast.Tuple | ast.List, node: ast.expr) -> list[ast.expr]:
        """One of several: `fake, real = generator(noise), batch` binds one name to it."""
        statement = self.around.parents.get(held)
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            return [held]
        target = statement.targets[0]
        if not isinstance(target, ast.Tuple | ast.List) or len(target.elts) != len(held.elts):
            return [held]
        return self._held_by(target.elts[held.elts.index(node)])

    def _kept_by(self, call: ast.Call) -> list[ast.expr]:
        """Uses of a list that the value is put into: `losses.append(loss)`."""
        func = call.func
        if not isinstance(func, ast.Attribute) or func.attr not in ("append", "extend"):
            return []
        return self._later(chain(func.value), call.lineno) if isinstance(func.value, ast.Name) else []

    def _held_by(self, target: ast.expr) -> list[ast.expr]:
        """The reads of what a statement binds."""
        if isinstance(target, ast.Starred):
            target = target.value
        if isinstance(target, ast.Tuple | ast.List):
            return [use for one in target.elts for use in self._held_by(one)]
        if not isinstance(target, ast.Name):
            whole = target.value if isinstance(target, ast.Subscript) else target
            return self._later(chain(whole), target.lineno)
        body = self.file.project.body(self.file.path)
        assert body is not None
        bound, found = body.at(target), list[ast.expr]()
        for use in body.reads(self.function, target.id):
            reaching = body.reaching(self.function, target.id, body.at(use)) or []
            if any(definition.at == bound for definition in reaching):
                found.append(use)
        return found

    def _later(self, written: str, line: int) -> list[ast.expr]:
        """The reads of an attribute or a container on later lines, until it is bound to something else."""
        nodes = [n for n in self.around.of_kinds((ast.Name, ast.Attribute)) if chain(n) == written]
        later = [n for n in nodes if isinstance(n, ast.Name | ast.Attribute) and n.lineno > line]
        again = min((n.lineno for n in later if isinstance(n.ctx, ast.Store) and self._replaces(n)), default=None)
        return [n for n in later if isinstance(n.ctx, ast.Load) and (again is None or n.lineno <= again)]

    def _replaces(self, node: ast.AST) -> bool:
        return not isinstance(self.around.parents.get(node), ast.AugAssign)
