"""Bindings inside functions: which assignments may reach a use. Read from `ast`, one file at a time, on demand."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any

from torchperf_lint.facts.bindings import effects
from torchperf_lint.facts.bindings.bindings import BlockPath, Collector, Definition, Narrowing, told_together
from torchperf_lint.facts.bindings.deciding import decisive_names
from torchperf_lint.facts.bindings.nested_spans import NestedSpans
from torchperf_lint.facts.bindings.own_expressions import lines_that_may_bind, lines_with
from torchperf_lint.facts.bindings.reaching import BindingsOfName
from torchperf_lint.facts.bindings.unset_options import none_by_default, unset_attributes
from torchperf_lint.facts.outlines.records import Call, Outline, Position
from torchperf_lint.facts.outlines.signatures import default_lambdas, is_iteration
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.syntax import BLOCKS, CHILDREN, LEAVES, blocks_of
from torchperf_lint.facts.syntax.written_names import under

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)
_SCOPES = frozenset(_DEFINITIONS)
_PLACE = attrgetter("at", "end")
_NOWHERE = -1
_NOT_ASKED: BindingsOfName | None = BindingsOfName(())
"""Stands for an answer that was not worked out yet."""


class Body:
    """The syntax tree of a file with its functions' bindings."""

    def __init__(self, tree: ast.Module, outline: Outline, text: str) -> None:
        self.outline = outline
        self._text = text
        self.ascii = text.isascii()
        self._may_yield = "yield" in text
        self.lines = text.splitlines(keepends=True) if self.ascii else _lines(text)
        self.classes: dict[int, ast.ClassDef] = {}
        """Line of `class` -> the class."""
        self.functions: dict[int, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef] = {0: tree}
        self._definitions: dict[int, dict[str, list[Definition]]] = {}
        self._attributes: dict[int, dict[str, BindingsOfName]] = {}
        self._of_name: dict[tuple[int, str], BindingsOfName | None] = {}
        self._blocks: dict[int, tuple[NestedSpans, list[BlockPath]]] = {}
        self._around: dict[tuple[int, Position], BlockPath] = {}
        self._narrowed: dict[int, dict[tuple[str, bool], tuple[NestedSpans, list[Narrowing]]]] = {}
        self._withs: dict[int, tuple[NestedSpans, list[ast.expr]]] = {}
        self._uses: dict[int, dict[str, list[tuple[str, int]]]] = {}
        self._calls: dict[int, dict[tuple[int, int, str], ast.Call]] = {}
        self._callees: dict[int, tuple[str, ...]] = {}
        self._passed_on: dict[int, set[str]] = {}
        self._passed: dict[int, dict[str, list[tuple[str, int, int]]]] = {}
        self._array_like: dict[int, dict[str, int]] = {}
        self._read: dict[int, dict[str, list[ast.Name]]] = {}
        self._returns: dict[int, list[ast.expr]] = {}
        self._yields: dict[int, list[tuple[ast.expr, bool]]] = {}
        self._self_assignments: dict[int, list[tuple[str, ast.expr, bool]]] = {}
        self._self_assigned: dict[int, dict[str, list[tuple[ast.expr, bool]]]] = {}
        self._put_under: dict[int, dict[str, dict[str, list[ast.expr]]]] = {}
        self._stored: dict[int, dict[str, list[ast.expr]]] = {}
        self._augmented: dict[int, list[str]] = {}
        self._element_stores: dict[int, list[tuple[str, ast.Subscript, ast.expr]]] = {}
        self._statements: dict[int, list[ast.stmt]] = {}
        self._decisive: dict[tuple[int, bool], frozenset[str]] = {}
        self._backward: dict[int, dict[str, int]] = {}
        by_place = {(f.header_line, f.name): i for i, f in enumerate(outline.functions)}
        self._find_functions(tree, by_place)

    def _find_functions(self, tree: ast.Module, by_place: dict[tuple[int, str], int]) -> None:
        stack: list[ast.AST] = [tree]
        while stack:
            node = stack.pop()
            if type(node) not in BLOCKS:
                continue  # as most statements
            if isinstance(node, _FUNCTIONS):
                index = by_place.get((node.lineno, node.name))
                if index is not None:
                    self.functions[index] = node
            elif isinstance(node, ast.ClassDef):
                self.classes[node.lineno] = node
            stack += blocks_of(node)

    def at(self, node: ast.expr | ast.stmt, end: bool = False) -> Position:
        """The 1-based position of a node's start, or of its end."""
        line, byte = node.lineno, node.col_offset
        if end:
            line, byte = node.end_lineno or line, node.end_col_offset or 0
        if self.ascii:
            return (line, byte + 1)
        written = self.lines[line - 1]
        if written.isascii():  # as most lines are where one is not
            return (line, byte + 1)
        return (line, len(written.encode("utf-8", "replace")[:byte].decode("utf-8", "replace")) + 1)

    def annotated_fields(self, line: int) -> dict[str, ast.AnnAssign]:
        """Name -> `name: annotation` in the body of the class that begins on a line: a record's fields."""
        cls = self.classes.get(line)
        fields = [s for s in cls.body if isinstance(s, ast.AnnAssign)] if cls is not None else []
        return {field.target.id: field for field in fields if isinstance(field.target, ast.Name)}

    # -- definitions -------------------------------------------------------------------------------

    def definitions(self, function: int) -> dict[str, list[Definition]]:
        """Name -> its bindings in a function's own scope, in order."""
        if function not in self._definitions:
            collector = Collector(self.at, self._binding_lines)
            node = self.functions.get(function)
            if node is not None:
                collector.run(node.body)
            for found in collector.found.values():
                if len(found) > 1:
                    found.sort(key=_PLACE)
            self._definitions[function] = collector.found
            self._attributes[function] = {
                written: BindingsOfName(sorted(found, key=_PLACE)) for written, found in collector.attributes.items()
            }
            self._blocks[function] = NestedSpans([s[:2] for s in collector.spans]), [s[2] for s in collector.spans]
            self._withs[function] = NestedSpans([w[:2] for w in collector.withs]), [w[2] for w in collector.withs]
            narrowed: dict[tuple[str, bool], list[Narrowing]] = {}
            for test in collector.narrowed:
                narrowed.setdefault((test.name, test.elements), []).append(test)
            self._narrowed[function] = {
                key: (NestedSpans([(n.start, n.end) for n in tests]), tests) for key, tests in narrowed.items()
            }
        return self._definitions[function]

    @cached_property
    def _binding_lines(self) -> frozenset[int]:
        return lines_that_may_bind(_one_newline(self._text))

    @cached_property
    def _lambda_lines(self) -> list[int]:
        return list(lines_with("lambda", _one_newline(self._text)))

    def may_be_in_lambda(self, function: int, at: Position) -> bool:
        """Whether a lambda is written in a function on the line of a place, or above it."""
        above = bisect_right(self._lambda_lines, at[0])
        node = self.functions.get(function)
        return above > 0 and self._lambda_lines[above - 1] >= getattr(node, "lineno", 1)

    def narrowing(self, function: int, name: str, at: Position, elements: bool = False) -> Narrowing | None:
        """The innermost `isinstance` test of a name, or of all its elements, that was made before a place."""
        if function not in self._narrowed:
            self.definitions(function)
        narrowed = self._narrowed[function]
        found = narrowed.get((name, elements)) if narrowed else None
        if found is None:
            return None
        spans, tests = found
        bound = max((d.at for d in self._definitions[function].get(name, ()) if d.end <= at), default=(0, 0))
        return told_together([tests[number] for number in spans.inside_out(at)], bound)

    def contexts(self, function: int, at: Position) -> list[ast.expr]:
        """The context managers of the `with` blocks of a function around a place, the innermost first."""
        self.definitions(function)
        spans, withs = self._withs[function]
        return [withs[number] for number in spans.inside_out(at)]

    def block_of(self, function: int, at: Position) -> BlockPath:
        """The blocks around a place."""
        key = (function, at)
        if key not in self._around:
            self.definitions(function)
            spans, paths = self._blocks[function]
            inner = spans.innermost(at, _NOWHERE)
            self._around[key] = paths[inner] if inner != _NOWHERE else ()
        return self._around[key]

    def reaching(self, function: int, name: str, at: Position) -> list[Definition] | None:
        """The bindings of `name` that may hold at a place; None when the function does not bind the name."""
        key = (function, name)
        bindings = self._of_name.get(key, _NOT_ASKED)
        if bindings is _NOT_ASKED:
            bound = self.definitions(function).get(name)
            bindings = self._of_name[key] = BindingsOfName(bound) if bound else None
        if bindings is None:
            return None
        if bindings.alone is not None:
            return bindings.alone if bindings.alone[0].end <= at else []
        known = bindings.known
        if at not in known:
            inner = bindings.within(at)
            known[at] = [inner] if inner is not None else bindings.reaching(at, self.block_of(function, at))
        return known[at]

    def attributes(self, function: int) -> Mapping[str, BindingsOfName]:
        """`self.name` -> its assignments in a function's own scope."""
        if function not in self._attributes:
            self.definitions(function)
        return self._attributes[function]

    def assigned(self, function: int, name: str, at: Position) -> list[ast.expr]:
        """All that plain assignments bind `name` to that may hold at a place; nothing where something else binds it."""
        reaching = self.reaching(function, name, at) or ()
        values = [d.value for d in reaching if d.how == "assign" and d.value is not None]
        return values if len(values) == len(reaching) else []

    def assigned_once(self, function: int, name: str, at: Position) -> ast.expr | None:
        """The one expression that `name` is bound to at a place; None where it may be something else as well."""
        values = self.assigned(function, name, at)
        return values[0] if len(values) == 1 else None

    # -- uses and calls ----------------------------------------------------------------------------

    def uses(self, function: int, name: str) -> list[tuple[str, int]]:
        """(attribute, line) for each `name.attribute` in a function, in order; `name` may be a chain."""
        if function not in self._uses:
            self._index(function)
        return self._uses[function].get(name, [])

    def call(self, function: int, line: int, column: int, callee: str) -> ast.Call | None:
        """The call that an outline's Call record stands for."""
        if function not in self._calls:
            self._index(function)
        return self._calls[function].get((line, column, callee))

    def node_of(self, call: Call) -> ast.Call | None:
        """The syntax of a call that an outline of this file records."""
        if call.function not in self._calls:
            self._index(call.function)
        return self._calls[call.function].get((call.line, call.column, call.callee))

    def asks(self, function: int, callee: str) -> int | None:
        """The line of the first call in a function that is written so and given something: `x.size(2)`."""
        self._index(function)
        lines = [line for (line, _, name), call in self._calls[function].items() if name == callee and call.args]
        return min(lines, default=None)

    def callees(self, function: int) -> Sequence[str]:
        """The chains of what a function calls, each once, in no order."""
        if function not in self._callees:
            self._index(function)
            self._callees[function] = tuple(dict.fromkeys(callee for _, _, callee in self._calls[function]))
        return self._callees[function]

    def _index(self, function: int) -> None:
        if function in self._uses:
            return
        uses: dict[str, list[tuple[str, int]]] = {}
        calls: dict[tuple[int, int, str], ast.Call] = {}
        node = self.functions.get(function)
        ascii_only = self.ascii
        stack: list[Any] = list(node.body) if node is not None else []
        while stack:
            current = stack.pop()
            kind = type(current)
            if kind in LEAVES:
                continue
            if kind is ast.Attribute:
                value = current.value
                if type(value) is ast.Name:  # three of four
                    uses.setdefault(value.id, []).append((current.attr, current.lineno))
                else:
                    uses.setdefault(chain(value), []).append((current.attr, current.lineno))
                    stack.append(value)
                continue
            if kind is ast.YieldFrom:
                self._passed_on.setdefault(function, set()).add(chain(current.value))
            elif kind is ast.Call:
                line, column = (current.lineno, current.col_offset + 1) if ascii_only else self.at(current)
                calls[line, column, chain(current.func)] = current
            elif kind in _SCOPES:
                stack += default_lambdas(current)
                continue
            stack += CHILDREN[kind](current)
        for found in uses.values():
            found.sort(key=lambda use: use[1])
        self._uses[function], self._calls[function] = uses, calls

    def mentions_between(self, function: int, name: str, start: Position, end: Position) -> bool:
        """Whether a name is read in a function between two places."""
        return any(start <= self.at(node) < end for node in self.reads(function, name))

    def reads(self, function: int, name: str) -> Sequence[ast.Name]:
        """Where a function, or one inside it, reads a name, in no order."""
        if function not in self._read:
            self._read[function] = self._find_read(function)
        return self._read[function].get(name, ())

    def _find_read(self, function: int) -> dict[str, list[ast.Name]]:
        """Name -> where a function, or one inside it, reads it."""
        found: dict[str, list[ast.Name]] = {}
        node = self.functions.get(function)
        stack: list[Any] = list(node.body) if node is not None else []
        while stack:
            current = stack.pop()
            kind = type(current)
            if kind is ast.Name:
                if type(current.ctx) is ast.Load:
                    found.setdefault(current.id, []).append(current)
            elif kind is not ast.Constant:
                stack += CHILDREN[kind](current)
        return found

    def loop_iterable(self, function: int, line: int) -> ast.expr | None:
        """What the `for` statement on a line iterates."""
        for statement in self.statements(function):
            if isinstance(statement, ast.For | ast.AsyncFor) and statement.lineno == line:
                return statement.iter
        return None

    def backward_operands(self, function: int) -> dict[str, int]:
        """Chain -> line, for what `backward` runs on: `loss.backward()`, `scaler.scale(a + b).backward()`."""
        if function not in self._backward:
            self._index(function)
            found: dict[str, int] = {}
            for call in self._calls[function].values():
                for name in effects.operands(effects.backward_target(call)):
                    found.setdefault(name, call.lineno)
            self._backward[function] = found
        return self._backward[function]

    def passed_to(self, function: int, name: str) -> list[tuple[str, int, int]]:
        """(callee, line, 0-based position) of each call that a name is a positional argument of, in order of lines."""
        if function not in self._passed:
            self._index(function)
            found: dict[str, list[tuple[str, int, int]]] = {}
            for (line, _, callee), call in self._calls[function].items():
                for position, argument in enumerate(call.args):
                    if isinstance(argument, ast.Name):
                        found.setdefault(argument.id, []).append((callee, line, position))
            for uses in found.values():
                uses.sort(key=lambda use: use[1])
            self._passed[function] = found
        return self._passed[function].get(name, [])

    def array_like(self, function: int, name: str) -> int | None:
        """The line where a function uses a name as only arrays and tensors are used: `x[:, 0]`, `(x > 0).any()`."""
        if function not in self._array_like:
            node = self.functions.get(function)
            self._array_like[function] = dict(effects.array_uses(node.body if node is not None else ()))
        return self._array_like[function].get(name)

    def decisive(self, function: int, indices: bool = True) -> frozenset[str]:
        """The names that decide what a function does next: in tests, bounds, slices and sizes.

        Without `indices`, those left out that only pick elements.
        """
        if (function, indices) not in self._decisive:
            node = self.functions.get(function)
            unset = self._unset_attributes | none_by_default(node)
            found = decisive_names(node.body if node is not None else (), indices, unset)
            self._decisive[function, indices] = frozenset(found)
        return self._decisive[function, indices]

    @cached_property
    def _unset_attributes(self) -> frozenset[str]:
        made = (number for number, node in self.functions.items() if getattr(node, "name", "") == "__init__")
        return unset_attributes((self.functions[number], self.self_assignments(number)) for number in made)

    def iterators(self, function: int) -> set[str]:
        """The chains a function goes through, but for loops: `iter(loader)`, `tqdm(loader)`, `yield from loader`."""
        self._index(function)
        made = (c for (_, _, callee), c in self._calls[function].items() if is_iteration(callee))
        return {chain(argument) for call in made for argument in call.args} | self._passed_on.get(function, set())

    def stored_items(self, function: int, name: str) -> list[ast.expr]:
        """What a function puts into a container: `name[...] = value`, `name.append(value)`."""
        if function not in self._stored:
            table: dict[str, list[ast.expr]] = {}
            for target, value in effects.stores(self.statements(function)):
                table.setdefault(target, []).append(value)
            self._stored[function] = table
        return self._stored[function].get(name, [])

    def put_under(self, function: int, name: str) -> dict[str, list[ast.expr]]:
        """What a function puts into a container under texts, `name["key"] = value`: key -> values, in order."""
        if function not in self._put_under:
            table: dict[str, dict[str, list[ast.expr]]] = {}
            for container, key, value in effects.named_stores(self.statements(function)):
                table.setdefault(container, {}).setdefault(key, []).append(value)
            for found in table.values():
                for written in found.values():
                    written.sort(key=self.at)
            self._put_under[function] = table
        return self._put_under[function].get(name, {})

    def self_assignments(self, function: int) -> list[tuple[str, ast.expr, bool]]:
        """(attribute, value, is registered) for each `self.attribute = value` and `self.register_buffer(...)`."""
        if function not in self._self_assignments:
            node = self.functions.get(function)
            taken = node.args.args if isinstance(node, _FUNCTIONS) else []
            found = effects.self_assignments(taken[0].arg, self.statements(function)) if taken else ()
            self._self_assignments[function] = list(found)
        return self._self_assignments[function]

    def self_assigned(self, function: int, attribute: str) -> list[tuple[ast.expr, bool]]:
        """(value, is registered) for each assignment of one attribute of `self`."""
        return under(self._self_assigned_in(function), attribute)

    def sets_itself(self, function: int, attribute: str) -> bool:
        """Whether a method assigns an attribute of `self` under the name itself, not one that is put together."""
        return attribute in self._self_assigned_in(function)

    def _self_assigned_in(self, function: int) -> dict[str, list[tuple[ast.expr, bool]]]:
        if function not in self._self_assigned:
            table: dict[str, list[tuple[ast.expr, bool]]] = {}
            for name, value, registered in self.self_assignments(function):
                table.setdefault(name, []).append((value, registered))
            self._self_assigned[function] = table
        return self._self_assigned[function]

    def augmented(self, function: int) -> list[str]:
        """The chains a function changes by `+=` and the like, each with `[` at its end."""
        if function not in self._augmented:
            found = [chain(s.target) + "[" for s in self.statements(function) if isinstance(s, ast.AugAssign)]
            self._augmented[function] = found
        return self._augmented[function]

    def returns(self, function: int) -> list[ast.expr]:
        """The values of a function's return statements, in order."""
        if function not in self._returns:
            statements = self.statements(function)
            found = [s.value for s in statements if isinstance(s, ast.Return) and s.value is not None]
            self._returns[function] = found
        return self._returns[function]

    def element_stores(self, function: int) -> list[tuple[str, ast.Subscript, ast.expr]]:
        """(name, where, value) for each `name[...] = value` of a function, `name[0][i] += value` too."""
        if function not in self._element_stores:
            self._element_stores[function] = list(effects.element_stores(self.statements(function)))
        return self._element_stores[function]

    def statements(self, function: int) -> list[ast.stmt]:
        """Every statement of a function, nested blocks included, nested definitions left out."""
        if function not in self._statements:
            node = self.functions.get(function)
            self._statements[function] = list(effects.statements(node.body)) if node is not None else []
        return self._statements[function]

    def yields(self, function: int) -> list[tuple[ast.expr, bool]]:
        """(value, whether `yield from`) for each yield of a generator, in order; empty for other functions."""
        if function not in self._yields:
            node = self.functions.get(function)
            found = effects.yields(node.body) if node is not None and self._may_yield else ()
            self._yields[function] = sorted(found, key=lambda pair: (pair[0].lineno, pair[0].col_offset))
        return self._yields[function]


def _lines(text: str) -> list[str]:
    return _one_newline(text).split("\n")


def _one_newline(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
