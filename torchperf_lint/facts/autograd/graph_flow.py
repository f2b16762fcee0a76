"""Which graphs the backward passes of a turn go through: the assignments of a turn in order, own methods followed.

    def optimize(self):                                def backward_g(self):
        self.fake = self.generator(self.noise)             self.loss_g = self.criterion(self.critic(self.fake))
        self.backward_g()                                  self.loss_g.backward(retain_graph=True)
        self.backward_d()

Each assignment is a node that has those of the names it computes with behind it; `.detach()` and `no_grad` cut it off.
Code in which more could happen, loops, gradients by other means, is not understood: nothing is said of it then.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from torchperf_lint.facts.syntax.chains import chain, last_part

_ENDS = frozenset(
    "detach detach_ item tolist numpy argmax argmin size dim numel eq ne gt lt ge le parameters state_dict new_zeros "
    "new_ones zeros_like ones_like empty_like rand_like randn_like full_like".split()
)
_END_ATTRIBUTES = frozenset({"data", "grad", "shape", "device", "dtype", "ndim"})
_LEAVES = frozenset(
    "tensor as_tensor zeros ones full empty rand randn randint arange FloatTensor LongTensor to cuda float double half "
    "long type requires_grad_ view reshape unsqueeze squeeze expand repeat Variable len range print format".split()
)
"""What gives a tensor without a graph, where it is given none."""
_GRADIENTS = frozenset("grad vjp jvp jacobian hessian closure gradient_penalty manual_backward".split())
_OFF = frozenset({"no_grad", "inference_mode"})
_HARMLESS = (ast.Pass, ast.Assert, ast.Delete, ast.Import, ast.ImportFrom, ast.Global, ast.Break, ast.Raise)
"""Statements that compute nothing; what leaves the loop leaves passes out, and no turn follows that could read on."""
_DEEP = 4
Nodes = frozenset[int]
NONE: Nodes = frozenset()
Scope = tuple[int, int]
"""A call that is followed, by its number, and how deep it is."""


class Pass(NamedTuple):
    """A backward pass, and the nodes that it starts from."""

    call: ast.Call
    nodes: Nodes


class NotUnderstoodError(Exception):
    """The code does what the flow has no words for."""


class GraphFlow:
    """The nodes of one turn. `ask` tells whether a call that is not followed computes gradients."""

    def __init__(self, methods: Mapping[str, ast.FunctionDef], ask: Callable[[ast.Call], bool]) -> None:
        self.methods = methods
        self.ask = ask
        self.passes: list[Pass] = []
        self.found_first: dict[str, ast.expr] = {}
        """What is read before the turn gives it a value."""
        self._first: dict[str, int] = {}
        """The nodes of those, each behind what is computed with it."""
        self.state: dict[str, Nodes] = {}
        self._behind: list[Nodes] = []
        self._carries: list[bool] = []
        self._off = False
        self._calls = 0

    def run(self, statements: Sequence[ast.stmt]) -> None:
        """Follow a turn; raises NotUnderstoodError."""
        self._block(statements, (0, 0))

    def shared(self, one: Nodes, other: Nodes) -> bool:
        """Whether a graph lies behind both."""
        return any(self._carries[node] for node in self._all_behind(one) & self._all_behind(other))

    def made(self, nodes: Nodes) -> bool:
        """Whether the turn itself computes any of some nodes."""
        return not nodes <= {*self._first.values()}

    def found_behind(self, one: Nodes, other: Nodes) -> list[ast.expr]:
        """What the turn finds when it begins, and both are computed with."""
        both = self._all_behind(one) & self._all_behind(other)
        return [self.found_first[name] for name, node in self._first.items() if node in both]

    def carried_on(self) -> bool:
        """Whether the next turn reads what this one leaves with a graph."""
        left = (node for name in self.found_first for node in self.state.get(name, NONE))
        return any(self._carries[node] for node in left)

    def _all_behind(self, nodes: Nodes) -> set[int]:
        found, stack = set(nodes), [*nodes]
        while stack:
            new = self._behind[stack.pop()] - found
            found |= new
            stack += new
        return found

    # -- statements ----------------------------------------------------------------------------------

    def _block(self, statements: Sequence[ast.stmt], scope: Scope) -> Nodes:
        """What the `return` statements of a block give."""
        given = NONE
        for statement in statements:
            given |= self._statement(statement, scope)
        return given

    def _statement(self, statement: ast.stmt, scope: Scope) -> Nodes:
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
            self._assign(statement, scope)
        elif isinstance(statement, ast.Return):
            return self._node([statement.value], scope) if statement.value is not None else NONE
        elif isinstance(statement, ast.Expr):
            self._expression(statement.value, scope)
        elif isinstance(statement, ast.If):
            return self._branches(statement, scope)
        elif isinstance(statement, ast.With):
            return self._with(statement, scope)
        elif not isinstance(statement, _HARMLESS):
            raise NotUnderstoodError
        return NONE

    def _assign(self, statement: ast.Assign | ast.AnnAssign | ast.AugAssign, scope: Scope) -> None:
        if statement.value is None:
            return
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        parts = [statement.value] if not isinstance(statement, ast.AugAssign) else [statement.target, statement.value]
        made = self._node(parts, scope)
        for target in targets:
            for name, whole in self._written(target, scope):
                self.state[name] = made if whole else made | self.state.get(name, NONE)

    def _written(self, target: ast.expr, scope: Scope) -> Iterable[tuple[str, bool]]:
        """The names that an assignment gives a value, and whether it gives them all of it."""
        if isinstance(target, ast.Tuple | ast.List):
            for part in target.elts:
                yield from self._written(part, scope)
        elif isinstance(target, ast.Starred):
            yield from self._written(target.value, scope)
        else:
            name, rest = _key(target, scope)
            if name:
                yield name, not rest

    def _branches(self, statement: ast.If, scope: Scope) -> Nodes:
        self._expression(statement.test, scope)
        before = dict(self.state)
        given = self._block(statement.body, scope)
        after, self.state = self.state, before
        given |= self._block(statement.orelse, scope)
        for name, nodes in after.items():
            self.state[name] = nodes | self.state.get(name, NONE)
        return given

    def _with(self, statement: ast.With, scope: Scope) -> Nodes:
        entered = [item.context_expr for item in statement.items]
        before = self._off
        self._off = before or any(last_part(chain(e.func)) in _OFF for e in entered if isinstance(e, ast.Call))
        given = self._block(statement.body, scope)
        self._off = before
        return given

    # -- expressions ---------------------------------------------------------------------------------

    def _node(self, parts: Sequence[ast.expr], scope: Scope) -> Nodes:
        """A node of its own for what is computed; what is only renamed stays the same."""
        behind, computes = NONE, False
        for part in parts:
            nodes, more = self._expression(part, scope)
            behind, computes = behind | nodes, computes or more
        if self._off:
            return NONE
        if not computes and len(parts) == 1:
            return behind
        self._behind.append(behind)
        self._carries.append(computes or any(self._carries[node] for node in behind))
        return frozenset((len(self._behind) - 1,))

    def _expression(self, node: ast.expr | None, scope: Scope) -> tuple[Nodes, bool]:
        """The nodes that an expression computes with, and whether it computes anything new of modules."""
        if node is None or isinstance(node, ast.Constant):
            return NONE, False
        if isinstance(node, ast.Call):
            return self._call(node, scope)
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
            name, rest = _key(node, scope)
            if _END_ATTRIBUTES & set(rest.split(".")):
                return NONE, False
            if name:
                return self._read(name, node), False
        if isinstance(node, ast.Lambda):
            return self._handed_on(node, scope), False
        if isinstance(node, ast.Yield | ast.YieldFrom | ast.Await | ast.NamedExpr):
            raise NotUnderstoodError
        found = [self._expression(child, scope) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        return NONE.union(*(nodes for nodes, _ in found)), any(more for _, more in found)

    def _handed_on(self, node: ast.Lambda, scope: Scope) -> Nodes:
        """The nodes of what a lambda reads where it stands, computing no gradients: `lambda f: save(f, images)`."""
        own = {argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg)}
        for call in (part for part in ast.walk(node) if isinstance(part, ast.Call)):
            if last_part(chain(call.func)) in _GRADIENTS | {"backward"} or self.ask(call):
                raise NotUnderstoodError
        read = (part for part in ast.walk(node.body) if isinstance(part, ast.Name) and part.id not in own)
        return NONE.union(*(self._expression(part, scope)[0] for part in read))

    def _read(self, name: str, node: ast.expr) -> Nodes:
        if name in self.state:
            return self.state[name]
        if self.found_first.setdefault(name, node) is node:
            self._behind.append(NONE)
            self._carries.append(False)
            self._first[name] = len(self._behind) - 1
        return frozenset((self._first[name],))

    def _call(self, call: ast.Call, scope: Scope) -> tuple[Nodes, bool]:
        function, name = call.func, last_part(chain(call.func))
        if name in _GRADIENTS:
            raise NotUnderstoodError
        if name == "backward":
            self._backward(call, scope)
            return NONE, False
        given = [*call.args, *(k.value for k in call.keywords)]
        if chain(function) == f"self.{name}" and name in self.methods:
            return self._followed(call, self.methods[name], scope), False
        if self.ask(call) or any(isinstance(a, ast.Name) and a.id == "self" for a in given):
            raise NotUnderstoodError
        parts = [self._expression(argument, scope) for argument in given]
        if isinstance(function, ast.Attribute) and chain(function.value) != "self":
            parts.append(self._expression(function.value, scope))
        elif _key(function, scope)[0] in self.state:
            parts.append(self._expression(function, scope))  # a lambda that the turn has made
        nodes, more = NONE.union(*(n for n, _ in parts)), any(m for _, m in parts)
        if name in _ENDS:
            return NONE, False
        if isinstance(function, ast.Attribute) and (name.endswith("_") or name in ("append", "extend", "update")):
            changed, _ = _key(function.value, scope)
            if changed and (nodes or more):
                self._behind.append(nodes)
                self._carries.append(more or any(self._carries[n] for n in nodes))
                self.state[changed] = self.state.get(changed, NONE) | {len(self._behind) - 1}
        return nodes, more or name not in _LEAVES

    def _backward(self, call: ast.Call, scope: Scope) -> None:
        of_torch = chain(call.func) in ("torch.autograd.backward", "autograd.backward")
        if not isinstance(call.func, ast.Attribute) or of_torch or chain(call.func.value) in ("self", "super()"):
            raise NotUnderstoodError
        self.passes.append(Pass(call, self._node([call.func.value], scope)))

    def _followed(self, call: ast.Call, method: ast.FunctionDef, scope: Scope) -> Nodes:
        """What a method of the same object gives, its code followed."""
        if scope[1] >= _DEEP or method.decorator_list or method.args.vararg or method.args.kwarg:
            raise NotUnderstoodError
        self._calls += 1
        inner = (self._calls, scope[1] + 1)
        names = [argument.arg for argument in (*method.args.posonlyargs, *method.args.args)][1:]
        if len(call.args) > len(names) or any(isinstance(a, ast.Starred) for a in call.args):
            raise NotUnderstoodError
        for name, argument in [*zip(names, call.args, strict=False), *((k.arg or "", k.value) for k in call.keywords)]:
            self.state[f"{inner[0]}:{name}"] = self._node([argument], scope)
        for name in names:
            self.state.setdefault(f"{inner[0]}:{name}", NONE)
        return self._block(method.body, inner)


def _key(node: ast.expr, scope: Scope) -> tuple[str, str]:
    """The name that an expression is, or is a part of, and the attributes behind it: `self.fake`, `.data`."""
    rest: list[str] = []
    while isinstance(node, ast.Attribute | ast.Subscript):
        inner = node.value
        if isinstance(node, ast.Attribute) and isinstance(inner, ast.Name) and inner.id == "self":
            return f"self.{node.attr}", ".".join(rest)
        rest.append(node.attr if isinstance(node, ast.Attribute) else "[]")
        node = inner
    return (f"{scope[0]}:{node.id}", ".".join(rest)) if isinstance(node, ast.Name) else ("", "")
