"""What the expressions of one file show: calls, functions that are named there, parts that run rarely or often."""

from __future__ import annotations

import ast

from torchperf_lint.errors import CannotCheck
from torchperf_lint.facts.outlines import guards
from torchperf_lint.facts.outlines.mentions import appended, handed_over, kept_lambdas
from torchperf_lint.facts.outlines.modes import in_evaluation
from torchperf_lint.facts.outlines.moved_beside import moved_beside
from torchperf_lint.facts.outlines.notes import Context, Notes
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.facts.outlines.signatures import DEFAULT, defaulted
from torchperf_lint.facts.syntax import conditions
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.operands import operand
from torchperf_lint.facts.syntax.syntax import CHILDREN, LEAVES, MAX_DEPTH, children_of, expression_depth

_MAKES_BESIDE = frozenset({"new_zeros", "new_ones", "new_tensor", "new_full", "new_empty"})
"""Methods that make a tensor where another one is."""
_TOLD = {ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda, ast.Yield}


class Expressions:
    """Reads expressions into the notes on their file."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes

    def read(self, root: ast.AST, context: Context) -> None:
        """Record the calls below `root`; comprehensions and `a if b else c` open regions."""
        if type(root) in LEAVES:
            return
        stack = self._defaults(root, context) if type(root) is ast.arguments else [(root, context)]
        visited = 0
        postponed: set[ast.AST] = set()
        called: set[ast.AST] = set()
        while stack:
            node, here = stack.pop()
            visited += 1
            kind = type(node)
            if kind is ast.Call:
                callee = self._call(node, here)  # type: ignore[arg-type]
                called.add(node.func)  # type: ignore[attr-defined]
                postponed.update(kept_lambdas(node, callee))
            elif kind is ast.Attribute:
                if type(node.value) is ast.Name:  # type: ignore[attr-defined]
                    self._attribute(node, node not in called, here)  # type: ignore[arg-type]
                    continue
            elif kind is ast.IfExp or kind is ast.BoolOp:
                stack.extend(self._guarded_parts(node, here))
                continue
            elif kind in _TOLD:
                here = self._told(node, here, node in postponed)
            for child in CHILDREN[kind](node):
                if type(child) not in LEAVES:
                    stack.append((child, here))
        if visited > MAX_DEPTH and expression_depth(root) > MAX_DEPTH:
            raise CannotCheck(f"an expression nested more than {MAX_DEPTH} deep", getattr(root, "lineno", None))

    def _attribute(self, node: ast.Attribute, read: bool, context: Context) -> None:
        """`self.name`, which may run a property or name a method, `tensor.device`, `tensor.new_zeros(n)`.

        `read`: whether it is not called itself.
        """
        name = node.value.id  # type: ignore[attr-defined]
        if name == "self" and read and type(node.ctx) is ast.Load:
            kind = self.notes.names.of_self(node.attr)
            if kind:
                self.notes.mention((kind, f"self.{node.attr}", ""), node, context)
        elif node.attr == "device":
            self.notes.mention(("device", name, ""), node, context)
        elif node.attr in _MAKES_BESIDE and not read:
            self.notes.mention(("beside", name, ""), node, context)

    def _operand(self, node: ast.Call, callee: str, context: Context) -> None:
        """The first operation of torch that takes a parameter first, `torch.sqrt(x)`."""
        notes = self.notes
        name = operand(node, callee, notes.out.imports)
        given = name and any(p.name == name for p in notes.out.functions[context.function].parameters)
        if given and notes.first_of(context.function, name):
            notes.mention(("operand", name, callee), node, context)

    def _call(self, node: ast.Call, context: Context) -> str:
        """Take note of a call, and of what it is given; gives its callee."""
        notes, callee = self.notes, chain(node.func)
        line, column = notes.at(node.lineno, node.col_offset)
        notes.out.calls.append(Call(callee, line, column, context.region, context.function))
        for named in (*handed_over(node, callee, notes.names), *moved_beside(node)):
            notes.mention(named, node, context)
        self._operand(node, callee, context)
        held = appended(node, callee, notes.names)
        if held is not None:
            notes.bind(*held, context)
        return callee

    def _defaults(self, node: ast.arguments, context: Context) -> list[tuple[ast.AST, Context]]:
        """The parts of a definition's parameters; a default's lambda runs where the parameter is called."""
        if not any(type(default) is ast.Lambda for default in (*node.defaults, *node.kw_defaults)):
            return [(node, context)]
        parts: list[tuple[ast.AST, Context]] = [(child, context) for child in children_of(node)]
        index = len(self.notes.out.functions)  # what the definition is about to become
        for parameter, default in defaulted(node):
            if isinstance(default, ast.Lambda):
                parts.remove((default, context))
                parts.append((default.body, self.notes.region(DEFAULT, context, [default], f"{index}:{parameter}")))
        return parts

    def _guarded_parts(self, node: ast.AST, context: Context) -> list[tuple[ast.AST, Context]]:
        """The parts of `a if step % n == 0 else b` and of `step % n == 0 and a`, the rare ones in their region."""
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
            return [(node.test, context), (node.body, body), (node.orelse, orelse)]
        assert isinstance(node, ast.BoolOp)
        parts: list[tuple[ast.AST, Context]] = []
        for value in node.values:
            parts.append((value, context))
            guard = guards.guard(value) if isinstance(node.op, ast.And) else None
            if guard is not None and not guard.otherwise and value is not node.values[-1]:
                rest = node.values[node.values.index(value) + 1 :]
                context = self.notes.region(guard.kind, context, rest, guard.text)
        return parts

    def _told(self, node: ast.AST, context: Context, kept: bool) -> Context:
        """The context of what stands in a comprehension, or in a lambda that is kept; of a `yield` note is taken."""
        if type(node) is ast.Lambda:
            return self.notes.region("lambda", context, [node]) if kept else context
        if type(node) is ast.Yield:
            self.notes.mention(("yield", "", ""), node, context)
            return context
        return self._comprehension(node, context)

    def _comprehension(self, node: ast.AST, context: Context) -> Context:
        first = node.generators[0]  # type: ignore[attr-defined]
        detail = conditions.short(f"for {conditions.words(first.target)} in {conditions.words(first.iter)}")
        self.notes.items(first.target, first.iter, context)
        return self.notes.region("comprehension", context, [node], detail, first.iter)
