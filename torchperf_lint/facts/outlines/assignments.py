"""What assignments, annotations and aliases of types bind, as an outline keeps it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from torchperf_lint.facts.outlines.device_tests import on_cuda
from torchperf_lint.facts.outlines.flags import Flags
from torchperf_lint.facts.outlines.mentions import MAKING, bound_functions, parts_made
from torchperf_lint.facts.outlines.notes import Context, Notes
from torchperf_lint.facts.outlines.records import Binding
from torchperf_lint.facts.outlines.signatures import NAMED, annotation_chain, is_iteration, iterated, shown_at_will
from torchperf_lint.facts.outlines.type_aliases import aliased_class
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import side_by_side


class Assignments:
    """Notes the bindings of one file; values are read by `expressions`."""

    def __init__(self, notes: Notes, flags: Flags, expressions: Callable[[ast.AST, Context], None]) -> None:
        self.notes = notes
        self.flags = flags
        self.expressions = expressions
        self.iterators: dict[tuple[int, str], str] = {}
        """(function, name) -> what an iteration with that name goes over: `bar = tqdm(loader)`."""

    def assigned(self, node: ast.Assign, context: Context) -> None:
        """`a = b = value`, and what that makes of each name."""
        given = node.value
        kind = type(given)
        self.flags.note(node.targets, given, context.function)
        bar = chosen = None
        if isinstance(given, ast.IfExp):
            bar = shown_at_will(given)
            chosen = bar or on_cuda(given)
        value = bound_functions(given) or chain(given) if chosen is None else chain(chosen)
        if kind is ast.Name and self.notes.out.regions[context.region].kind == "elsewhere":
            value = "?"  # the function for other devices
        elif context.function == 0 and context.class_index < 0:
            value = aliased_class(given) or value
        parts = parts_made(given) if kind in MAKING else None
        for target in node.targets:
            if isinstance(target, (ast.Tuple, ast.List)):
                self._unpacked(target, given, value, context)
                continue
            if "?" not in value:
                self.notes.bind(target, value, context)
            if parts is not None:
                self.notes.bind(target, parts, context)
            if isinstance(target, ast.Name):
                self.notes.names.binds(target.id, value)
                if is_iteration(value) and last_part(value) != "next":
                    self.iterators[context.function, target.id] = iterated(bar or given)
        self.expressions(node, self._named_lambda(node, context) if kind is ast.Lambda else context)

    def _named_lambda(self, node: ast.Assign, context: Context) -> Context:
        """The region of a lambda that a name of the module or of a function stands for; else the code around."""
        target = node.targets[0] if len(node.targets) == 1 else None
        if not isinstance(target, ast.Name) or (context.function == 0 and context.class_index >= 0):
            return context
        return self.notes.region(NAMED, context, [node.value], target.id)

    def _unpacked(self, target: ast.Tuple | ast.List, node: ast.expr, value: str, context: Context) -> None:
        """`a, b = f()` binds items of one value; what each is, is the engine's business.

        `a, b = f(), g()` binds each to its own.
        """
        for item, each in zip(target.elts, side_by_side(target, node) or (), strict=False):
            self.notes.bind(item, bound_functions(each) or chain(each), context)
            if isinstance(item, ast.Name):
                self.notes.names.binds(item.id, chain(each))
        if "?" in value or value[0] in "@{|":
            return
        for position, item in enumerate(target.elts):
            self.notes.bind(item, f"{value}[{position}]", context)

    def annotated(self, node: ast.AnnAssign, context: Context) -> None:
        """`a: T`, with a value or without; in the body of a class a field."""
        told = f":{annotation_chain(node.annotation)}"
        alias = told.endswith((":TypeAlias", ".TypeAlias"))  # `Rows: TypeAlias = torch.Tensor` is the class itself
        if not alias:
            self.notes.bind(node.target, told, context)
        if context.class_index >= 0 and isinstance(node.target, ast.Name) and "?" not in told and not alias:
            field = f"{self.notes.out.classes[context.class_index].name}.{node.target.id}"
            self.notes.out.bindings.append(Binding(context.function, field, told, node.lineno))
        if node.value is not None:
            self.flags.note([node.target], node.value, context.function)
            self.notes.bind(node.target, bound_functions(node.value) or chain(node.value), context)
            self.expressions(node.value, context)

    def type_alias(self, node: Any, context: Context) -> None:  # noqa: ANN401 -- no `ast.TypeAlias` before 3.12
        """`type Rows = Tensor | None`, since Python 3.12."""
        told = annotation_chain(node.value)
        if "?" not in told and told:
            self.notes.bind(node.name, told, context)
