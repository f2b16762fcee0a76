"""What the expressions of one file show: calls, functions that are named there, parts that run rarely or often."""

from __future__ import annotations

import ast
from typing import Any

from torchperf_lint.errors import CannotCheck
from torchperf_lint.facts.outlines import guards
from torchperf_lint.facts.outlines.mentions import appended, handed_over, keeps_lambdas
from torchperf_lint.facts.outlines.modes import in_evaluation
from torchperf_lint.facts.outlines.moved_beside import MOVES, moved_beside
from torchperf_lint.facts.outlines.notes import Context, Notes
from torchperf_lint.facts.outlines.records import Call, new_record
from torchperf_lint.facts.outlines.signatures import DEFAULT, defaulted
from torchperf_lint.facts.syntax import conditions
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.operands import takes_a_tensor
from torchperf_lint.facts.syntax.syntax import CHILDREN, LEAVES, MAX_DEPTH, children_of, expression_depth

_MAKES_BESIDE = frozenset({"new_zeros", "new_ones", "new_tensor", "new_full", "new_empty"})
"""Methods that make a tensor where another one is."""
_SAYS_WHERE = _MAKES_BESIDE | {"device"}
_NONE: frozenset[ast.AST] = frozenset()
_TOLD = {ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda, ast.Yield}


class Expressions:
    """Reads expressions into the notes on their file."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self._lambdas = "lambda" in notes.names.text
        self._kept = self._called = _NONE
        """Of one expression: the lambdas that calls keep for later, and what is called."""

    def read(self, root: ast.AST, context: Context) -> None:
        """Record the calls below `root`; comprehensions and `a if b else c` open regions."""
        if type(root) in LEAVES:
            return
        # Nodes, last first; a context among them is that of the nodes which come from the stack after it.
        stack: list[Any] = self._defaults(root, context) if type(root) is ast.arguments else [root]
        visited = 0
        self._kept = self._called = _NONE
        while stack:
            node = stack.pop()
            kind = type(node)
            if kind in LEAVES:
                continue
            visited += 1
            if kind is ast.Call:
                stack += self._call(node, context)
                visited += len(node.keywords)
            elif kind is ast.Attribute:
                value = node.value
                if type(value) is not ast.Name:
                    stack.append(value)
                elif value.id == "self" or node.attr in _SAYS_WHERE:
                    self._attribute(node, value.id, context)
            elif kind is Context:
                context = node
            elif kind is ast.IfExp or kind is ast.BoolOp:
                stack.append(context)
                stack += self._guarded_parts(node, context)
            else:
                if kind in _TOLD:
                    stack.append(context)
                    context = self._told(node, context)
                stack += CHILDREN[kind](node)
        if visited > MAX_DEPTH and expression_depth(root) > MAX_DEPTH:
            raise CannotCheck(f"an expression nested more than {MAX_DEPTH} deep", getattr(root, "lineno", None))

    def _attribute(self, node: ast.Attribute, name: str, context: Context) -> None:
        """`self.name`, which may run a property or name a method, `tensor.device`, `tensor.new_zeros(n)`."""
        called = node in self._called
        if name == "self" and not called and type(node.ctx) is ast.Load:
            kind = self.notes.names.of_self(node.attr)
            if kind:
                self.notes.mention((kind, f"self.{node.attr}", ""), node, context)
        elif node.attr == "device":
            self.notes.mention(("device", name, ""), node, context)
        elif node.attr in _MAKES_BESIDE and called:
            self.notes.mention(("beside", name, ""), node, context)

    def _call(self, node: ast.Call, context: Context) -> list[ast.expr]:
        """Take note of a call, and of what it is given; gives the expressions in it."""
        notes, function, callee = self.notes, node.func, chain(node.func)
        line, column = (node.lineno, node.col_offset + 1) if notes.ascii else notes.at(node.lineno, node.col_offset)
        notes.out.calls.append(new_record(Call, (callee, line, column, context.region, context.function)))
        given = [*node.args, *[keyword.value for keyword in node.keywords]] if node.keywords else node.args
        if given:
            self._given(node, callee, context)
            if self._lambdas and ast.Lambda in map(type, given) and keeps_lambdas(callee):
                self._kept = self._kept.union(each for each in given if type(each) is ast.Lambda)
        if type(function) is not ast.Attribute or type(function.value) is not ast.Name:
            return [function, *given]
        if function.attr not in _SAYS_WHERE:
            return given  # of a method that is called nothing else is told
        self._called = self._called | {function}
        return [function, *given]

    def _given(self, node: ast.Call, callee: str, context: Context) -> None:
        """Take note of what a call is given."""
        notes, args = self.notes, node.args
        for named in handed_over(node, callee, notes.names):
            notes.mention(named, node, context)
        if not args:
            return
        if len(args) == 1 and callee.endswith(MOVES):
            for named in moved_beside(node):
                notes.mention(named, node, context)
        if type(args[0]) is ast.Name:
            self._operand(args[0].id, callee, node, context)
        held = appended(node, callee, notes.names) if callee.endswith(".append") else None
        if held is not None:
            notes.bind(*held, context)

    def _operand(self, name: str, callee: str, node: ast.Call, context: Context) -> None:
        """The first operation of torch that takes a parameter first, `torch.sqrt(x)`."""
        notes = self.notes
        if not takes_a_tensor(callee, notes.out.imports):
            return
        given = any(p.name == name for p in notes.out.functions[context.function].parameters)
        if given and notes.first_of(context.function, name):
            notes.mention(("operand", name, callee), node, context)

    def _defaults(self, node: ast.arguments, context: Context) -> list[ast.AST | Context]:
        """The parts of a definition's parameters; a default's lambda runs where the parameter is called."""
        if ast.Lambda not in map(type, (*node.defaults, *node.kw_defaults)):
            return [node]
        parts: list[ast.AST | Context] = [*children_of(node)]
        index = len(self.notes.out.functions)  # what the definition is about to become
        for parameter, default in defaulted(node):
            if isinstance(default, ast.Lambda):
                parts.remove(default)
                inside = self.notes.region(DEFAULT, context, [default], f"{index}:{parameter}")
                parts += [context, default.body, inside]
        return parts

    def _guarded_parts(self, node: ast.AST, context: Context) -> list[ast.AST | Context]:
        """The parts of `a if step % n == 0 else b` and of `step % n == 0 and a`, the rare ones in their region.

        Behind each stands its context.
        """
        if isinstance(node, ast.IfExp):
            guard = guards.guard(node.test)
            body = orelse = context
            if guard is not None and guard.otherwise:
                orelse = self.notes.region(guard.kind, context, [node.orelse], guard.text)
            elif guard is not None:
                body = self.notes.region(guard.kind, context, [node.body], guard.text)
            else:
                trained_not, otherwise_not = in_evaluation(node.test)
                body = self.notes.region("evaluation", context, [node.body]) if trained_not else context
                orelse = self.notes.region("evaluation", context, [node.orelse]) if otherwise_not else context
            return [node.test, context, node.body, body, node.orelse, orelse]
        assert isinstance(node, ast.BoolOp)
        parts: list[ast.AST | Context] = []
        for value in node.values:
            parts += [value, context]
            if isinstance(node.op, ast.Or) or value is node.values[-1]:
                continue
            guard = guards.guard(value)
            if guard is not None and not guard.otherwise:
                rest = node.values[node.values.index(value) + 1 :]
                context = self.notes.region(guard.kind, context, rest, guard.text)
        return parts

    def _told(self, node: ast.AST, context: Context) -> Context:
        """The context of what stands in a comprehension, or in a lambda that is kept; of a `yield` note is taken."""
        if type(node) is ast.Lambda:
            return self.notes.region("lambda", context, [node]) if node in self._kept else context
        if type(node) is ast.Yield:
            self.notes.mention(("yield", "", ""), node, context)
            return context
        return self._comprehension(node, context)

    def _comprehension(self, node: ast.AST, context: Context) -> Context:
        first = node.generators[0]  # type: ignore[attr-defined]
        detail = conditions.short(f"for {conditions.words(first.target)} in {conditions.words(first.iter)}")
        self.notes.items(first.target, first.iter, context)
        return self.notes.region("comprehension", context, [node], detail, first.iter)
