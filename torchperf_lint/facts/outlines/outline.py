"""The outline of one file: plain data read from the stdlib `ast`, cheap enough to make for every file.

It holds imports, definitions, simple bindings, calls, and regions: the loops, guards and blocks that decide
how often a line runs. Lines and columns are 1-based code points, ends exclusive. No walk here recurses.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from torchperf_lint.errors import CannotCheck
from torchperf_lint.facts.outlines import anomalies, counted_turns, guards
from torchperf_lint.facts.outlines.assignments import Assignments
from torchperf_lint.facts.outlines.class_flags import ClassFlags
from torchperf_lint.facts.outlines.cut_by_while import as_range
from torchperf_lint.facts.outlines.documented import documented
from torchperf_lint.facts.outlines.expressions import Expressions
from torchperf_lint.facts.outlines.filled_elsewhere import Filling
from torchperf_lint.facts.outlines.filled_globals import FilledGlobals
from torchperf_lint.facts.outlines.filled_names import fills_a_name
from torchperf_lint.facts.outlines.first_turns import shows_the_first_few
from torchperf_lint.facts.outlines.flags import Flags
from torchperf_lint.facts.outlines.imported import bind_imports
from torchperf_lint.facts.outlines.memo import fills_a_table, kept_after, makes_what_it_keeps
from torchperf_lint.facts.outlines.mentions import defaults_of, listens
from torchperf_lint.facts.outlines.modes import evaluation_follows, in_evaluation
from torchperf_lint.facts.outlines.notes import Context, Notes
from torchperf_lint.facts.outlines.once import drops, may_miss, set_up_once, set_up_otherwise
from torchperf_lint.facts.outlines.parameter_tests import named_freely, way_past, ways
from torchperf_lint.facts.outlines.records import Binding, Class, Function, Outline, Region, new_record
from torchperf_lint.facts.outlines.returned_parts import several_given_back
from torchperf_lint.facts.outlines.signatures import (
    annotation_chain,
    decorators,
    defaulted,
    off_by_default,
    on_by_default,
    parameters,
)
from torchperf_lint.facts.outlines.states import is_rare_case
from torchperf_lint.facts.outlines.switched_off import switched_off
from torchperf_lint.facts.outlines.turned_flags import is_seldom
from torchperf_lint.facts.syntax import conditions
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.syntax import MAX_DEPTH, names_of, parse


def outline(path: str, text: str, tree: ast.Module | None = None) -> Outline:
    """The outline of `text`. Raises CannotCheck."""
    return _Outliner(path, text).run(parse(text) if tree is None else tree)


PER_STEP = frozenset("training_step validation_step test_step train_step compute_loss forward".split())
"""Functions that run every step: each of their calls comes to each turn of their loops."""
_MAY_GUARD_THE_REST = frozenset((ast.If, ast.Assert, ast.With, ast.AsyncWith))
"""Statements that may decide how often what follows them in their block runs."""
_MAY_LEAVE = frozenset((ast.Return, ast.Raise, ast.Continue, ast.If, ast.Expr))
"""How a branch ends that does; an expression may be `sys.exit()`, and in an `if` may stand a `return`."""


class _Block(NamedTuple):
    statements: Sequence[ast.stmt]
    context: Context
    inner: bool
    """Whether the block is a branch inside a function or loop (so an exit at its end makes it rare)."""
    test: str = ""
    """Of such a branch: what it is taken for, where that leaves a loop or function."""


class _Outliner:
    def __init__(self, path: str, text: str) -> None:
        self.notes = Notes(path, text)
        self.text = text
        self.out = self.notes.out
        self.expressions = Expressions(self.notes).read
        self.blocks: list[_Block] = []
        self.off_by_default: dict[int, frozenset[str]] = {}
        self.parameters: dict[int, frozenset[str]] = {}
        self.on_by_default: dict[int, dict[str, object]] = {}
        self.bodies: dict[int, list[ast.stmt]] = {}
        self.returned: list[tuple[int, int, str]] = []
        self.counters: dict[int, frozenset[str]] = {}
        """Function that runs every step -> the variables of its own loops."""
        self.flags = Flags()
        self.assignments = Assignments(self.notes, self.flags, self.expressions)
        self.class_flags = ClassFlags()
        self.filling = Filling()
        self.globals = FilledGlobals(text)

    def run(self, tree: ast.Module) -> Outline:
        out = self.out
        self.filling.read(tree)
        self.globals.read(tree)
        last = tree.body[-1].end_lineno if tree.body else 1
        out.functions.append(Function("<module>", "<module>", 1, last or 1, -1, -1, 0))
        out.regions.append(Region("function", -1, (1, 1), ((last or 1) + 1, 1), 0, ""))
        self.blocks.append(_Block(tree.body, Context(0, -1, 0, 0), inner=False))
        while self.blocks:
            self.block(self.blocks.pop())
        if self.assignments.iterators:
            out.regions = [self.over_what(region) for region in out.regions]
        out.calls.sort(key=attrgetter("line", "column"))
        out.returns = [(function, value) for _, function, value in sorted(self.returned)]
        out.bindings.sort(key=attrgetter("line"))
        return out

    def over_what(self, region: Region) -> Region:
        """A loop over `bar`, where `bar = tqdm(loader)`, is one over the loader."""
        over = self.assignments.iterators.get((region.function, region.iterable)) if region.iterable else None
        return region if over is None else region._replace(iterable=over)

    def block(self, block: _Block) -> None:
        statements, context = block.statements, block.context
        if not statements:
            return
        if context.depth > MAX_DEPTH:
            raise CannotCheck(f"statements nested more than {MAX_DEPTH} deep", statements[0].lineno)
        leaves = guards.exit_kind(statements) if block.inner else None
        if leaves:
            context = self.notes.region(leaves, context, statements, block.test)
        for index, statement in enumerate(statements):
            kind = type(statement)
            if kind is ast.Assign:
                self.assignments.assigned(statement, context)  # type: ignore[arg-type]
                continue
            handler = _STATEMENTS.get(kind)
            if handler is None:
                self.expressions(statement, context)
            else:
                handler(self, statement, context)
            if kind not in _MAY_GUARD_THE_REST or index + 1 == len(statements):
                continue
            if kind is ast.If and (statement.orelse or type(statement.body[-1]) not in _MAY_LEAVE):  # type: ignore[attr-defined]
                continue
            rest = statements[index + 1 :]
            guard = self.guards_the_rest(statement, rest, context)
            if guard:
                self.blocks.append(_Block(rest, self.notes.region(guard.kind, context, rest, guard.text), inner=False))
                return

    def guards_the_rest(self, statement: ast.stmt, rest: Sequence[ast.stmt], context: Context) -> guards.Guard | None:
        """What makes the rest of a block rare, or decides when it runs."""
        guard = self.class_flags.guards_the_rest(statement, self.class_of(context))
        if guard is None and isinstance(statement, ast.If):
            guard = self.kept_after(statement, rest, context)
        if guard is None and evaluation_follows(statement):
            return guards.Guard("evaluation", "")
        if guard is None and (past := way_past(statement, self.parameters_of(context))):
            return guards.Guard("way", past)
        return guard

    def inner_block(self, statements: Sequence[ast.stmt], context: Context, test: str = "") -> None:
        if statements:
            self.blocks.append(new_record(_Block, (statements, context.deeper(), True, test)))

    def raise_(self, node: ast.Raise, context: Context) -> None:
        """What an error is told happens once, also where the statement ends a function and no block."""
        known = self.out.regions[context.region].kind == "raise"
        self.expressions(node, context if known else self.notes.region("raise", context, [node]))

    def assert_(self, node: ast.Assert, context: Context) -> None:
        """What an assertion says is worked out only where it fails."""
        self.expressions(node.test, context)
        if node.msg is not None:
            self.expressions(node.msg, self.notes.region("raise", context, [node.msg]))

    def import_(self, node: ast.Import | ast.ImportFrom, context: Context) -> None:
        del context
        bind_imports(self.out, node)

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, context: Context) -> None:
        out = self.out
        for expression in (*node.decorator_list, node.args):
            self.expressions(expression, context)
        index = len(out.functions)
        inside = self.notes.region("function", context, node.body)
        out.regions[inside.region] = out.regions[inside.region]._replace(function=index)
        first = min((d.lineno for d in node.decorator_list), default=node.lineno)
        out.functions.append(
            Function(
                node.name,
                self.notes.qualname(node.name, context),
                first,
                node.end_lineno or first,
                context.function,
                context.class_index,
                inside.region,
                parameters(node.args),
                decorators(node, out.classes, context.class_index, self.notes.names),
                node.lineno,
                annotation_chain(node.returns) if node.returns is not None else "",
            )
        )
        defaults = defaulted(node.args)
        self.off_by_default[index] = off_by_default(defaults)
        self.on_by_default[index] = on_by_default(defaults)
        self.bodies[index] = node.body
        event = listens(node.decorator_list)
        if event is not None:
            self.notes.mention(("event", node.name, event), node, context)
        for parameter, named in defaults_of(defaults, self.notes.names):
            self.notes.mention(("default", named, parameter), node, inside._replace(function=index))
        for name in documented(node):
            self.notes.mention(("documented", name, node.name), node, inside._replace(function=index))
        if context.class_index >= 0:
            out.classes[context.class_index].methods[node.name] = index
        elif context.function == 0:
            out.tops[node.name] = ("function", index)
        self.blocks.append(_Block(node.body, Context(index, -1, inside.region, context.depth + 1), inner=False))

    def class_(self, node: ast.ClassDef, context: Context) -> None:
        out = self.out
        for expression in (*node.decorator_list, *node.bases, *node.keywords):
            self.expressions(expression, context)
        index = len(out.classes)
        bases = tuple(chain(base) for base in node.bases)
        out.classes.append(
            Class(node.name, self.notes.qualname(node.name, context), node.lineno, context.function, bases)
        )
        if context.function == 0 and context.class_index < 0:
            out.tops[node.name] = ("class", index)
        self.class_flags.note(index, node)
        self.filling.note(index, node)
        inside = self.notes.region("class", context, node.body)
        self.blocks.append(_Block(node.body, inside._replace(class_index=index, depth=context.depth + 1), inner=False))

    def for_(self, node: ast.For | ast.AsyncFor, context: Context) -> None:
        self.expressions(node.target, context)
        self.expressions(node.iter, context)
        self.notes.items(node.target, node.iter, context)
        detail = conditions.short(f"for {conditions.words(node.target)} in {conditions.words(node.iter)}")
        self.loop(node, context, detail, node.iter)
        if name := named_freely(node):
            self.parameters[context.function] = self.parameters_of(context) | {name}
        self.inner_block(node.orelse, context)

    def while_(self, node: ast.While, context: Context) -> None:
        guard = guards.guard(node.test)
        if guard is not None and guard.kind == "debug" and not guard.otherwise:  # as long as somebody looks on
            context = self.notes.region(guard.kind, context, node.body, guard.text)
        inside = self.loop(node, context, conditions.short(f"while {conditions.words(node.test)}"), as_range(node))
        self.expressions(node.test, inside)
        self.inner_block(node.orelse, context)

    def loop(
        self, node: ast.For | ast.AsyncFor | ast.While, context: Context, detail: str, iterable: ast.expr | None
    ) -> Context:
        inside = self.notes.region("loop", context, node.body, detail, iterable)
        if isinstance(node, ast.For) and self.out.functions[context.function].name in PER_STEP:
            turned = names_of(node.target)
            self.counters[context.function] = self.counters.get(context.function, frozenset()) | turned
        region = self.out.regions[inside.region]._replace(head=node.lineno)
        # A body that always leaves the loop runs once, however long the iterable.
        self.out.regions[inside.region] = region._replace(turns=1) if guards.exit_kind(node.body) else region
        self.blocks.append(_Block(node.body, inside.deeper(), inner=False))
        return inside

    def if_(self, node: ast.If, context: Context) -> None:
        self.expressions(node.test, context)
        name = self.out.functions[context.function].name
        guard = guards.tests_itself(node.test) if context.function > 0 and name != "main" else None
        guard = guard or guards.guard(node.test) or self.flags.of(node.test, context.function)
        guard = guard or self.class_flags.of(node.test, self.class_of(context))
        guard = guard or self.of_first_turns(node, context) or switched_off(node.test, self.text)
        if guard is not None and guard.kind == "cadence" and self.is_of_each_call(node.test, context):
            guard = None
        if guard is not None and guard.kind == "debug":
            guard = None if guards.holds_by_default(node.test, self.on_by_default.get(context.function, {})) else guard
        body, orelse, off = context, context, self.off_by_default.get(context.function, frozenset())
        guard = None if guards.is_cuda_asked_for(node.test, off) else guard or guards.by_an_option(node)
        if guard:
            kind, rest = guard.kind, guard.otherwise
            body = self.notes.region(kind, context, node.body, guard.text) if not rest else context
            if rest and node.orelse:
                orelse = self.notes.region(kind, context, node.orelse, guard.text)
        elif guards.optional(node.test, off):
            body = self.notes.region("optional", context, node.body, conditions.short(conditions.words(node.test)))
        elif self.runs_once(node, context) or makes_what_it_keeps(node.body, node.orelse, node.test):
            body = self.notes.region("once", context, node.body, conditions.short(conditions.words(node.test)))
        elif makes_what_it_keeps(node.orelse, node.body, node.test) or set_up_otherwise(node):
            orelse = self.notes.region("once", context, node.orelse, conditions.short(conditions.words(node.test)))
        elif anomalies.tells_of_an_anomaly(node):
            body = self.notes.region("except", context, node.body, conditions.short(conditions.words(node.test)))
        else:
            trained_not, otherwise_not = in_evaluation(node.test)
            body = self.notes.region("evaluation", context, node.body) if trained_not else context
            orelse = self.notes.region("evaluation", context, node.orelse) if otherwise_not and node.orelse else context
        self.ways(node, context, body, orelse)

    def parameters_of(self, context: Context) -> frozenset[str]:
        """The names of the parameters of the function around."""
        if (number := context.function) not in self.parameters:
            self.parameters[number] = frozenset(p.name for p in self.out.functions[number].parameters)
        return self.parameters[number]

    def ways(self, node: ast.If, context: Context, body: Context, orelse: Context) -> None:
        """The blocks of an `if`, with what a parameter must be for each of them to run."""
        holds, fails = ways(node.test, self.parameters_of(context))
        if holds and (body is context or self.out.regions[body.region].kind == "optional"):
            body = self.notes.region("way", body, node.body, holds)
        if fails and orelse is context and node.orelse:
            orelse = self.notes.region("way", context, node.orelse, fails)
        leaves = guards.exit_kind(node.body) in ("break", "return")
        self.inner_block(node.body, body, conditions.short(conditions.words(node.test)) if leaves else "")
        self.inner_block(node.orelse, orelse)

    def of_first_turns(self, node: ast.If, context: Context) -> guards.Guard | None:
        body = self.bodies.get(context.function)
        if body is None or self.out.functions[context.function].name in PER_STEP:
            return None
        few = shows_the_first_few(node, body)
        return guards.Guard("cadence", conditions.short(conditions.words(node.test))) if few else None

    def is_of_each_call(self, test: ast.expr, context: Context) -> bool:
        """`if i == 1:` in a loop of a training step's own, whose each step comes to that turn; an interval of one."""
        of_step = self.out.functions[context.function].name in PER_STEP
        counts = of_step and counted_turns.only_counts(test, self.counters.get(context.function, frozenset()))
        return counts or self.class_flags.intervals.decides(test, self.class_of(context))

    def class_of(self, context: Context) -> int:
        """The number of the class whose method the function around is; -1 for none."""
        return self.out.functions[context.function].class_index

    def runs_once(self, node: ast.If, context: Context) -> bool:
        """Whether a branch sets up what its test found missing, and nothing in the function drops it again."""
        if not may_miss(node.test):
            return False
        body = self.bodies.get(context.function)
        if set_up_once(node):
            return body is None or not drops(body, node.test)
        if body is None:
            return False
        if is_seldom(node.test, body, self.text):
            return True
        if self.filling.fill(node, self.class_of(context), body) or self.filling.fills_behind(node, body):
            return True
        if fills_a_name(node, body) or fills_a_table(node, body):
            return True
        return self.globals.fill(node, body, self.parameters_of(context))

    def kept_after(self, statement: ast.If, rest: Sequence[ast.stmt], context: Context) -> guards.Guard | None:
        """What makes the rest of a block run once: a statement that answers with what the rest puts away."""
        body = self.bodies.get(context.function)
        found = kept_after(statement, rest, body or ())
        if found is not None or body is None:
            return found
        return self.globals.kept_after(statement, rest, body, self.parameters_of(context))

    def try_(self, node: ast.Try, context: Context) -> None:
        self.inner_block(node.body, context)
        for handler in node.handlers:
            if handler.type is not None:
                self.expressions(handler.type, context)
            self.inner_block(handler.body, self.notes.region("except", context, handler.body))
        self.inner_block(node.orelse, context)
        self.inner_block(node.finalbody, context)

    def with_(self, node: ast.With | ast.AsyncWith, context: Context) -> None:
        inside = context
        for item in node.items:
            self.expressions(item.context_expr, context)
            name = chain(item.context_expr)
            if isinstance(item.optional_vars, ast.Name):
                self.out.bindings.append(Binding(context.function, item.optional_vars.id, name, node.lineno))
            kind = guards.with_kind(name, item.context_expr)
            if kind:
                inside = self.notes.region(kind, inside, node.body, name)
        self.inner_block(node.body, inside)

    def match_(self, node: ast.Match, context: Context) -> None:
        self.expressions(node.subject, context)
        for case in node.cases:
            rare = is_rare_case(node.subject, case)
            detail = conditions.short(conditions.words(node.subject))
            self.inner_block(case.body, self.notes.region("cadence", context, case.body, detail) if rare else context)

    def return_(self, node: ast.Return, context: Context) -> None:
        if node.value is None:
            return
        value = chain(node.value)
        if "?" not in value:
            self.returned.append((node.lineno, context.function, value))
        elif type(node.value) in _COMPUTED and self.notes.first_of(context.function, ""):
            self.notes.mention(("gives", "", ""), node, context)
        self.out.bindings += several_given_back(node, context.function)
        self.expressions(node.value, context)


_COMPUTED = {ast.BinOp, ast.Subscript, ast.Tuple}
"""Expressions whose value was computed, as far as their operands were."""

_STATEMENTS: dict[type[ast.stmt], Callable[[_Outliner, Any, Context], None]] = {
    ast.Import: _Outliner.import_,
    ast.ImportFrom: _Outliner.import_,
    ast.FunctionDef: _Outliner.function,
    ast.AsyncFunctionDef: _Outliner.function,
    ast.ClassDef: _Outliner.class_,
    ast.For: _Outliner.for_,
    ast.AsyncFor: _Outliner.for_,
    ast.While: _Outliner.while_,
    ast.If: _Outliner.if_,
    ast.Try: _Outliner.try_,
    ast.With: _Outliner.with_,
    ast.AsyncWith: _Outliner.with_,
    ast.Match: _Outliner.match_,
    ast.AnnAssign: lambda outliner, node, context: outliner.assignments.annotated(node, context),
    ast.Return: _Outliner.return_,
    ast.Raise: _Outliner.raise_,
    ast.Assert: _Outliner.assert_,
}
if hasattr(ast, "TryStar"):
    _STATEMENTS[ast.TryStar] = _Outliner.try_
if hasattr(ast, "TypeAlias"):
    _STATEMENTS[ast.TypeAlias] = lambda outliner, node, context: outliner.assignments.type_alias(node, context)
