"""What stands around an expression of one function: its parents, its statement, the block of statements it is in."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from operator import attrgetter

from torchperf_lint.facts.syntax.syntax import BLOCKS, CHILDREN, LEAVES, nodes_of

_INNER = frozenset((ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
_FOR = (ast.For, ast.AsyncFor)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LATER = (ast.IfExp, ast.BoolOp, ast.Lambda, *_COMPREHENSIONS)
_START = attrgetter("lineno", "col_offset")
_NOWHERE: tuple[Sequence[ast.stmt], int] = ((), 0)


class Enclosing:
    """The code of one function (or of the module), nested definitions left out, seen from the inside out."""

    def __init__(self, node: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.top = node
        # Several rules ask for the same kinds.
        self._of_kinds: dict[tuple[type[ast.AST], ...], list[ast.AST]] = {}

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """Every statement and expression -> the node it is a part of."""
        stack: list[ast.AST] = [*self.top.body]
        found: dict[ast.AST, ast.AST] = dict.fromkeys(stack, self.top)
        while stack:
            node = stack.pop()
            kind = type(node)
            if kind in _INNER:
                continue
            for child in CHILDREN[kind](node):
                found[child] = node
                if type(child) not in LEAVES:
                    stack.append(child)
        return found

    @cached_property
    def _by_kind(self) -> dict[type[ast.AST], list[tuple[int, ast.AST]]]:
        """Type -> its statements and expressions, numbered in the order of `parents`."""
        found: dict[type[ast.AST], list[tuple[int, ast.AST]]] = defaultdict(list)
        for number, node in enumerate(self.parents):
            found[type(node)].append((number, node))
        return found

    @cached_property
    def while_tests(self) -> dict[ast.AST, ast.While]:
        """Each `while` and each part of its test -> the `while`: a test runs as often as the body, and after it."""
        loops = [node for _, node in self._by_kind.get(ast.While, ())]
        return {part: loop for loop in loops if isinstance(loop, ast.While) for part in (loop, *nodes_of(loop.test))}

    def of_kinds(self, kinds: Iterable[type[ast.AST]]) -> list[ast.AST]:
        """The statements and expressions of some types, in the order of their starts; not the caller's to change."""
        asked = tuple(kinds)
        if asked not in self._of_kinds:
            self._of_kinds[asked] = self._find_of_kinds(asked)
        return self._of_kinds[asked]

    def _find_of_kinds(self, kinds: Iterable[type[ast.AST]]) -> list[ast.AST]:
        found = [self._by_kind[kind] for kind in kinds if kind in self._by_kind]
        if not found:
            return []
        numbered = found[0] if len(found) == 1 else sorted(chain.from_iterable(found))
        return sorted([node for _, node in numbered], key=_START)  # of those that begin together, the outer one first

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """What stands around a node, from the inside out, statements and their blocks too."""
        parent = self.parents.get(node)
        while parent is not None:
            yield parent
            parent = self.parents.get(parent)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """The parents of an expression, innermost first, up to its statement, which is the last."""
        while not isinstance(node, ast.stmt) and node in self.parents:
            node = self.parents[node]
            yield node

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The innermost statement that a node is a part of: of an `if` test the `if`."""
        if isinstance(node, ast.stmt):
            return node
        last = None
        for last in self.ancestors(node):  # noqa: B007 -- the last one is wanted
            pass
        return last if isinstance(last, ast.stmt) else None

    def always_evaluated(self, node: ast.AST) -> bool:
        """Whether an expression runs exactly once when its statement does: not in a comprehension, not after `and`."""
        inner = node
        for parent in self.ancestors(node):
            first = parent.values[0] if isinstance(parent, ast.BoolOp) else getattr(parent, "test", None)
            if isinstance(parent, _LATER) and inner is not first:
                return False
            inner = parent
        return True

    def loops(self, node: ast.AST) -> Iterator[ast.For | ast.AsyncFor | ast.comprehension]:
        """The `for` loops and comprehensions of the function that a node is in the body of, innermost first."""
        inner = node
        while inner in self.parents:
            parent = self.parents[inner]
            if isinstance(parent, _FOR) and self._suites.get(inner, _NOWHERE)[0] is parent.body:
                yield parent
            elif isinstance(parent, _COMPREHENSIONS):
                before = parent.generators
                if isinstance(inner, ast.comprehension):
                    before = before[: before.index(inner)]
                yield from reversed(before)
            elif isinstance(parent, ast.comprehension) and inner is not parent.iter:
                yield parent
            inner = parent

    def suite(self, statement: ast.stmt) -> Sequence[ast.stmt]:
        """The statements of the block that a statement stands in, itself included."""
        return self._suites[statement][0] if statement in self._suites else (statement,)

    def place_in_suite(self, statement: ast.stmt) -> int:
        """The 0-based place of a statement among those of its `suite`."""
        return self._suites.get(statement, _NOWHERE)[1]

    @cached_property
    def _suites(self) -> dict[ast.AST, tuple[Sequence[ast.stmt], int]]:
        """Statement -> the block it stands in, and its 0-based place there."""
        found: dict[ast.AST, tuple[Sequence[ast.stmt], int]] = {}
        for parent in dict.fromkeys(self.parents.values()):
            for name in BLOCKS.get(type(parent), ()):
                block = getattr(parent, name)
                found.update((statement, (block, place)) for place, statement in enumerate(block))
        return found
