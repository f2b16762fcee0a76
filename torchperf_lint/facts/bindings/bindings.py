"""Bindings of one scope: every assignment of a name, with the blocks around it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from torchperf_lint.facts.bindings.asked_classes import classes_asked, either_asked, exact_class_asked, of_all
from torchperf_lint.facts.bindings.own_expressions import own_expressions
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.outlines.signatures import default_lambdas
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.syntax import (
    CHILDREN,
    LEAVES,
    Assignment,
    nodes_of,
    side_by_side,
    targets_of,
)

HANDLER = "except"
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
_BINDING = frozenset((ast.NamedExpr, ast.Lambda, ast.Call, ast.IfExp, *_COMPREHENSIONS))
"""Expressions that may bind a name, or say what one is."""
_LEFT_OF = {"assign": "rest", "loop": "rest of each"}
BlockPath = tuple[tuple[int, str], ...]
"""The compound statements around a place, each as (line, branch); loops have the branch `loop`."""


class Definition(NamedTuple):
    """One binding of a name.

    how: assign, item (the `index`-th of what `value` unpacks to), loop (an element of `value`), augmented, with,
    named (an import, function or class), rest and rest of each (`a, *name = value`, `for a, *name in value`: what is
    left from the `index`-th on), other (nothing is known: a lambda's parameter).
    """

    how: str
    value: ast.expr | None
    index: tuple[int, ...]  # type: ignore[assignment]  # hides tuple.index, which nobody calls
    at: Position
    end: Position
    """The name is bound after this place."""
    block: BlockPath
    within: tuple[Position, Position] | None = None
    """For the variable of a comprehension or lambda: the span in which it is bound."""
    tries: tuple[int, ...] = ()
    """The lines of the `try` statements whose bodies it stands in."""
    alone: tuple[int, ...] = ()
    """The lines of the `if`s around it that nobody gets past but through its branch: the other one raises or leaves."""
    gone: tuple[int, str] | None = None
    """The outermost branch around it that ends in a `return` or `raise`: behind that branch it holds nowhere."""


class Narrowing(NamedTuple):
    """A stretch of code in which an `isinstance` test of a name holds, or is known not to hold."""

    name: str
    classes: str
    """The classes as written."""
    holds: bool
    start: Position
    end: Position
    line: int
    elements: bool = False
    """Whether all elements were tested: `all(isinstance(s, float) for s in sigma)`."""
    asserted: bool = False
    """Whether nothing goes on where it does not hold: `assert isinstance(x, Tensor)`."""


def told_together(around: list[Narrowing], bound: Position) -> Narrowing | None:
    """The innermost of the tests around a place, with all classes that it and others since a binding have ruled out."""
    if not around or around[0].holds:
        return around[0] if around else None
    excluded = [test.classes for test in around if not test.holds and (bound < test.start or test is around[0])]
    return around[0]._replace(classes=f"({', '.join(excluded)})") if len(excluded) > 1 else around[0]


# Tuples, for a union is made anew wherever it is written, and these are asked of every statement.
_LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_TO_ANOTHER_TURN = (ast.Continue, ast.Break)
_NAMES = (ast.Name, ast.Attribute)


def _leaves(statement: ast.If) -> bool:
    """`if test: return`, after which the test is known not to hold."""
    return not statement.orelse and isinstance(statement.body[-1], _LEAVING)


def _ends(branch: Sequence[ast.stmt]) -> bool:
    """Whether nobody gets past a branch, `return` or `raise` at its end, nor to the next turn of a loop from within."""
    if not isinstance(branch[-1], ast.Return | ast.Raise):
        return False
    return not any(isinstance(part, _TO_ANOTHER_TURN) for one in branch for part in nodes_of(one))


def _until_bound(name: str, statements: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    """The statements before the first that binds a name anew."""
    for number, statement in enumerate(statements):
        parts = (n for n in nodes_of(statement) if isinstance(n, _NAMES))
        if any(isinstance(part.ctx, ast.Store) and chain(part) == name for part in parts):
            return statements[:number]
    return statements


class _Told(NamedTuple):
    """What a test says of the class of a name."""

    name: str
    classes: str
    equal: bool
    """Whether it is asked to be one of the classes, and not to be none of them."""
    line: int
    elements: bool = False


def _told(test: ast.expr) -> _Told | None:
    if isinstance(test, ast.BoolOp):
        name, either = either_asked(test)
        return _Told(name, either, True, test.lineno) if name else None
    if isinstance(test, ast.Compare):
        exactly = exact_class_asked(test)
        return _Told(*exactly, test.lineno) if exactly is not None else None
    each, elements = of_all(test)
    classes = classes_asked(each)
    if classes is None or not isinstance(each, ast.Call):
        return None
    return _Told(elements or chain(each.args[0]), classes, True, each.lineno, bool(elements))


class Collector:
    """Walks one scope's statements with a stack of its own and records every binding."""

    def __init__(self, at: Callable[..., Position], binding_lines: frozenset[int]) -> None:
        """`binding_lines`: those of the file on which an expression may bind a name."""
        self.at = at
        self.binding_lines = binding_lines
        self.found: dict[str, list[Definition]] = {}
        self.attributes: dict[str, list[Definition]] = {}
        """`name.attribute` -> its assignments."""
        self.spans: list[tuple[Position, Position, BlockPath]] = []
        self.narrowed: list[Narrowing] = []
        self.withs: list[tuple[Position, Position, ast.expr]] = []
        """(start, end, context) of each `with` block."""
        self.stack: list[tuple[Sequence[ast.stmt], BlockPath, tuple[int, ...], tuple[int, ...]]] = []
        self.tries: tuple[int, ...] = ()
        self.alone: tuple[int, ...] = ()
        self.ending: set[tuple[int, str]] = set()
        """The branches of `if`s that end the function."""

    def run(self, statements: Sequence[ast.stmt]) -> None:
        """Collect from the statements of one scope."""
        self.stack.append((statements, (), (), ()))
        while self.stack:
            block, path, self.tries, self.alone = self.stack.pop()
            if path and block:
                self.spans.append((self.at(block[0]), self.at(block[-1], end=True), path))
            for number, statement in enumerate(block):
                self._statement(statement, path)
                if isinstance(statement, ast.If) and number + 1 < len(block) and _leaves(statement):
                    self._narrow(statement.test, block[number + 1], block[-1], False)
                elif isinstance(statement, ast.Assert):
                    self._asserted(statement.test, block[number + 1 :])
        # What is only ever imported or defined is the business of types.py.
        named = [name for name, found in self.found.items() if found[0].how == "named"]
        for name in named:
            if all(d.how == "named" for d in self.found[name]):
                del self.found[name]

    def _inner(self, statements: Sequence[ast.stmt], path: BlockPath, line: int, branch: str) -> None:
        if statements:
            self.stack.append((statements, (*path, (line, branch)), self.tries, self.alone))

    def _branch(self, node: ast.If, statements: Sequence[ast.stmt], path: BlockPath, branch: str) -> None:
        """A branch of an `if`; what binds a name in the only one that goes on has bound it for all that follows."""
        other = node.orelse if branch == "body" else node.body
        alone = (*self.alone, node.lineno) if other and isinstance(other[-1], _LEAVING) else self.alone
        if statements:
            if _ends(statements):
                self.ending.add((node.lineno, branch))
            self.stack.append((statements, (*path, (node.lineno, branch)), self.tries, alone))

    def _statement(self, node: ast.stmt, path: BlockPath) -> None:
        bind = _BINDERS.get(type(node))
        if bind is not None:
            bind(self, node, path)
        if node.lineno == node.end_lineno and node.lineno not in self.binding_lines:
            return
        parts = own_expressions(node)
        # Of ten statements one has an expression that binds: where none of the words is there, it has none.
        if parts and not self.binding_lines.isdisjoint(range(node.lineno, parts[-1].end_lineno + 1)):
            self._expressions(parts, path)

    def _assigned(self, node: Assignment, path: BlockPath) -> None:
        if node.value is not None:
            end = self.at(node, end=True)
            for target in targets_of(node):
                self._target(target, "assign", node.value, (), end, path)

    def _for(self, node: ast.For | ast.AsyncFor, path: BlockPath) -> None:
        inside = (*path, (node.lineno, "loop"))
        self._target(node.target, "loop", node.iter, (), self.at(node.body[0]), inside)
        self._loop(node, path)

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, path: BlockPath) -> None:
        self._inner(node.body, path, node.lineno, "loop")
        self._inner(node.orelse, path, node.lineno, "else")

    def _if(self, node: ast.If, path: BlockPath) -> None:
        self._narrow(node.test, node.body[0], node.body[-1], True)
        if node.orelse:
            self._narrow(node.test, node.orelse[0], node.orelse[-1], False)
        self._branch(node, node.body, path, "body")
        self._branch(node, node.orelse, path, "else")

    def _with(self, node: ast.With | ast.AsyncWith, path: BlockPath) -> None:
        start = self.at(node.body[0])
        for item in node.items:
            self.withs.append((start, self.at(node.body[-1], end=True), item.context_expr))
            if item.optional_vars is not None:
                self._target(item.optional_vars, "with", item.context_expr, (), start, path)
        # A `with` block always runs: it is no branch.
        self.stack.append((node.body, path, self.tries, self.alone))

    def _match(self, node: ast.Match, path: BlockPath) -> None:
        for case in node.cases:
            self._inner(case.body, path, node.lineno, f"case{case.body[0].lineno}")

    def _imported(self, node: ast.Import | ast.ImportFrom, path: BlockPath) -> None:
        for alias in node.names:
            self._named(alias.asname or alias.name.partition(".")[0], node, path)

    def _defined(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, path: BlockPath) -> None:
        self._named(node.name, node, path)
        for default in default_lambdas(node):
            self._lambda(default, (), path)

    def _try(self, node: ast.Try, path: BlockPath) -> None:
        # Its body, too, is no branch for what follows; only a handler may find it cut short.
        self.stack.append((node.body, path, (*self.tries, node.lineno), self.alone))
        for handler in node.handlers:
            self._inner(handler.body, path, node.lineno, f"{HANDLER}{handler.lineno}")
        self._inner(node.orelse, path, node.lineno, "try-else")
        self.stack.append((node.finalbody, path, self.tries, self.alone))

    def _named(self, name: str, node: ast.stmt, path: BlockPath) -> None:
        at, end = self.at(node), self.at(node, end=True)
        self._add(name, Definition("named", None, (), at, end, path, None, self.tries, self.alone))

    def _augmented(self, node: ast.AugAssign, path: BlockPath) -> None:
        if isinstance(node.target, ast.Name):
            value = ast.BinOp(left=ast.Name(id=node.target.id, ctx=ast.Load()), op=node.op, right=node.value)
            ast.copy_location(value, node)
            ast.copy_location(value.left, node.target)
            at, end = self.at(node), self.at(node, end=True)
            made = Definition("augmented", value, (), at, end, path, None, self.tries, self.alone)
            self._add(node.target.id, made)
        elif isinstance(node.target, ast.Attribute):
            self._attribute(node.target, "augmented", node.value, (), self.at(node, end=True), path)

    def _target(
        self, node: ast.expr, how: str, value: ast.expr, index: tuple[int, ...], end: Position, path: BlockPath
    ) -> None:
        if isinstance(node, ast.Name):
            kind = "item" if index and how == "assign" else how
            made = Definition(kind, value, index, self.at(node), end, path, None, self.tries, self.alone)
            self._add(node.id, made)
        elif isinstance(node, ast.Starred):
            self._target(node.value, _LEFT_OF.get(how, "other"), value, index, end, path)
        elif isinstance(node, ast.Tuple | ast.List):
            parts = side_by_side(node, value) if how == "assign" and not index else None
            for position, item in enumerate(node.elts):
                if parts is not None:
                    self._target(item, how, parts[position], (), end, path)
                else:
                    self._target(item, how, value, (*index, position), end, path)
        elif isinstance(node, ast.Attribute):
            self._attribute(node, "item" if index and how == "assign" else how, value, index, end, path)

    def _attribute(
        self, node: ast.Attribute, how: str, value: ast.expr, index: tuple[int, ...], end: Position, path: BlockPath
    ) -> None:
        if isinstance(node.value, ast.Name):
            definition = Definition(how, value, index, self.at(node), end, path, None, self.tries, self.alone)
            self.attributes.setdefault(f"{node.value.id}.{node.attr}", []).append(definition)

    def _add(self, name: str, definition: Definition) -> None:
        if self.ending and not definition.tries:  # what handles an error may see it
            gone = next((b for b in definition.block if b in self.ending), None)
            definition = definition._replace(gone=gone) if gone is not None else definition
        self.found.setdefault(name, []).append(definition)

    def _expressions(self, stack: list[Any], path: BlockPath) -> None:
        """Walrus targets, and the variables of comprehensions and lambdas, of one statement's expressions."""
        while stack:
            current = stack.pop()
            kind = type(current)
            if kind in LEAVES:
                continue
            if kind not in _BINDING:
                stack += CHILDREN[kind](current)
                continue
            if kind is ast.NamedExpr:
                end = self.at(current, end=True)
                self._target(current.target, "assign", current.value, (), end, path)
            elif kind is ast.Call:
                self._mapped(current, path)
            elif kind in _COMPREHENSIONS:
                self._comprehension(current, path)
            elif kind is ast.Lambda:
                self._lambda(current, (), path)
            else:
                self._narrow(current.test, current.body, current.body, True)
                self._narrow(current.test, current.orelse, current.orelse, False)
            # Below an expression stand expressions; a lambda's parameters hold defaults, which bind nothing here.
            stack += [child for child in CHILDREN[kind](current) if not isinstance(child, ast.arguments)]

    def _mapped(self, node: ast.Call, path: BlockPath) -> None:
        """`map(lambda x: ..., rows)`: what the lambda takes are elements of the rows."""
        if len(node.args) > 1 and isinstance(node.args[0], ast.Lambda) and chain(node.func) == "map":
            self._lambda(node.args[0], node.args[1:], path)

    def _narrow(self, test: ast.expr, first: ast.stmt | ast.expr, last: ast.stmt | ast.expr, holds: bool) -> None:
        """Record what `isinstance(name, classes)` or `is_tensor(name)` says about the code from `first` to `last`."""
        while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, holds = test.operand, not holds
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            for part in test.values:
                # What is left where one of two tests fails is told of elements only: those are a hint, no proof.
                if holds or of_all(part)[1]:
                    self._narrow(part, first, last, holds)
            return
        told = _told(test)
        if told is not None:
            span = (self.at(first), self.at(last, end=True))
            made = Narrowing(told.name, told.classes, holds is told.equal, *span, told.line, told.elements)
            self.narrowed.append(made)

    def _asserted(self, test: ast.expr, rest: Sequence[ast.stmt]) -> None:
        """Record what an `assert` says about the code that follows, as far as the name is not bound anew."""
        for part in test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]:
            inner = part.operand if isinstance(part, ast.UnaryOp) else part
            if classes_asked(inner) is not None and isinstance(inner, ast.Call):
                follow = _until_bound(chain(inner.args[0]), rest)
                if follow:
                    self._narrow(part, follow[0], follow[-1], True)
                    self.narrowed[-1] = self.narrowed[-1]._replace(asserted=True)

    def _comprehension(self, node: ast.expr, path: BlockPath) -> None:
        span = (self.at(node), self.at(node, end=True))
        for generator in node.generators:  # type: ignore[attr-defined]
            collector = Collector(self.at, self.binding_lines)
            collector._target(generator.target, "loop", generator.iter, (), span[0], path)
            for name, definitions in collector.found.items():
                for part in self._spans(node, name, span):
                    for definition in definitions:
                        self._add(name, definition._replace(within=part, tries=self.tries, alone=self.alone))

    def _spans(self, node: ast.expr, name: str, span: tuple[Position, Position]) -> Iterator[tuple[Position, Position]]:
        """Where a variable of a comprehension holds: all over it, but for what is gone through first.

        In `[x.flip(0) for x in x]` the last `x` is the one from around it.
        """
        first = node.generators[0].iter  # type: ignore[attr-defined]
        if any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(first)):
            yield span[0], self.at(first)
            yield self.at(first, end=True), span[1]
        else:
            yield span

    def _lambda(self, node: ast.expr, over: Sequence[ast.expr], path: BlockPath) -> None:
        """A lambda's parameters: elements of what it is mapped over, or nothing is known."""
        assert isinstance(node, ast.Lambda)
        span = (self.at(node), self.at(node, end=True))
        for position, argument in enumerate(node.args.args):
            how, value = ("loop", over[position]) if position < len(over) else ("other", None)
            if how == "loop" or not any(d.within == span for d in self.found.get(argument.arg, ())):
                made = Definition(how, value, (), span[0], span[0], path, span, self.tries, self.alone)
                self._add(argument.arg, made)


_Binder = Callable[[Collector, Any, BlockPath], None]
_BINDERS: dict[type[ast.stmt], _Binder] = {
    **dict.fromkeys((ast.Assign, ast.AnnAssign), Collector._assigned),
    **dict.fromkeys((ast.For, ast.AsyncFor), Collector._for),
    **dict.fromkeys((ast.With, ast.AsyncWith), Collector._with),
    **dict.fromkeys((ast.Import, ast.ImportFrom), Collector._imported),
    **dict.fromkeys((ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef), Collector._defined),
    ast.AugAssign: Collector._augmented,
    ast.While: Collector._loop,
    ast.If: Collector._if,
    ast.Try: Collector._try,
    ast.Match: Collector._match,
}
"""What binds names, or holds other statements; half of all do neither."""
if hasattr(ast, "TryStar"):
    _BINDERS[ast.TryStar] = Collector._try
