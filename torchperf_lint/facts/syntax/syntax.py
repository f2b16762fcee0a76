"""Python's own syntax trees: parsed with the reasons of refusal, walked without recursion."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from typing import Any

from torchperf_lint.errors import CannotCheck
from torchperf_lint.patterns import pattern

MAX_DEPTH = 1_000
"""Deeper expressions crash libcst's native parser; the cap is the same on every Python. CPython refuses brackets
nested more than 200 deep by itself."""

SIMPLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Assert, ast.Raise, ast.Delete)
"""Statements without others in them that can hold a call."""
Assignment = ast.Assign | ast.AnnAssign


def targets_of(statement: Assignment) -> list[ast.expr]:
    """What an assignment binds: `a = b = x`, or the one target of `n: int = x`."""
    return statement.targets if isinstance(statement, ast.Assign) else [statement.target]


def parse(text: str) -> ast.Module:
    """The syntax tree of a file's text.

    Raises CannotCheck for what CPython refuses, with the reason and line.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _of_any_age(text)
    except SyntaxError as error:
        raise CannotCheck(f"syntax error: {error.msg}", error.lineno) from None
    except RecursionError:
        raise CannotCheck("nested too deeply for Python's own parser") from None
    except MemoryError:
        raise CannotCheck("too large or too deeply nested for Python's own parser") from None
    except ValueError as error:
        raise CannotCheck(f"not Python source: {error}") from None


_ASYNC = pattern(r"\basync(?=\s*=\s*(?:True|False)\b)")
_STANDS_IN = "_sync"
"""As long as `async`, so that every place stays where it is."""


def _of_any_age(text: str) -> ast.Module:
    """The tree of a text; also where `x.cuda(async=True)`, as `non_blocking` was called before Python 3.7, is all
    that no Python reads today."""
    try:
        return ast.parse(text)
    except SyntaxError:
        if not _ASYNC.search(text):
            raise
        tree = ast.parse(_ASYNC.sub(_STANDS_IN, text))
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == _STANDS_IN:
            node.arg = "non_blocking"
    return tree


def _child_fields(node_type: type[ast.AST]) -> tuple[tuple[str, bool], ...]:
    """The fields that may hold nodes, and whether they may hold something else too."""
    skipped = {"ctx", "op", "ops", "kind", "id", "attr", "arg", "conversion", "is_async", "simple", "type_comment"}
    return tuple((name, name not in _NODES_ONLY) for name in node_type._fields if name not in skipped)


_NODES_ONLY = frozenset(
    "body orelse finalbody handlers test value func args keywords elts left right values operand comparators slice "
    "targets target iter ifs generators items context_expr optional_vars lower upper step elt annotation returns "
    "decorator_list bases exc cause msg posonlyargs kwonlyargs defaults vararg kwarg cases pattern patterns guard "
    "format_spec".split()
)
"""Fields in which a grammar change alone could put anything but nodes."""


LEAVES = frozenset({ast.Name, ast.Constant})
"""What has no children: half of all nodes, which walks need not ask."""
_AST = ast.AST
_Children = Callable[[Any], "list[ast.AST]"]


class _ChildrenByType(dict[type[ast.AST], _Children]):
    """Type of a node -> what gives its children; made for each type when the first node of it comes."""

    def __missing__(self, kind: type[ast.AST]) -> _Children:
        fields = _child_fields(kind)

        def found_in(node: ast.AST) -> list[ast.AST]:
            found: list[ast.AST] = []
            for name, mixed in fields:
                value = getattr(node, name, None)
                if value is None:
                    continue
                if value.__class__ is list:
                    found += [item for item in value if isinstance(item, _AST)] if mixed else value
                elif not mixed or isinstance(value, _AST):
                    found.append(value)
            return found

        self[kind] = found_in
        return found_in


CHILDREN = _ChildrenByType(
    {
        # Nineteen of twenty nodes: what is written out takes a third of the time.
        ast.Attribute: lambda node: [node.value],
        ast.Call: lambda node: [node.func, *node.args, *node.keywords],
        ast.keyword: lambda node: [node.value],
        ast.Expr: lambda node: [node.value],
        ast.Assign: lambda node: [*node.targets, node.value],
        ast.Subscript: lambda node: [node.value, node.slice],
        ast.BinOp: lambda node: [node.left, node.right],
        ast.Compare: lambda node: [node.left, *node.comparators],
        ast.Tuple: lambda node: [*node.elts],
        ast.List: lambda node: [*node.elts],
        ast.UnaryOp: lambda node: [node.operand],
        ast.BoolOp: lambda node: [*node.values],
        ast.If: lambda node: [node.test, *node.body, *node.orelse],
        ast.Slice: lambda node: [bound for bound in (node.lower, node.upper, node.step) if bound is not None],
        ast.Return: lambda node: [node.value] if node.value is not None else [],
        ast.JoinedStr: lambda node: [*node.values],
        ast.FormattedValue: lambda node: [node.value, node.format_spec] if node.format_spec else [node.value],
        ast.IfExp: lambda node: [node.test, node.body, node.orelse],
        ast.For: lambda node: [node.target, node.iter, *node.body, *node.orelse],
        ast.AugAssign: lambda node: [node.target, node.value],
        ast.arg: lambda node: [node.annotation] if node.annotation is not None else [],
        ast.Name: lambda node: [],
        ast.Constant: lambda node: [],
        ast.MatchSingleton: lambda node: [],
    }
)
"""Asked of every node several times a run, by walks that look at types anyway; `children_of` for all others."""


def children_of(node: ast.AST) -> list[ast.AST]:
    """Child nodes in field order, without contexts and operators."""
    # A list is made faster than a generator is gone through.
    return CHILDREN[type(node)](node)


def nodes_of(root: ast.AST) -> list[ast.AST]:
    """A node and all below it, breadth first, without contexts and operators: `ast.walk` in a third of its time."""
    nodes = [root]
    for node in nodes:
        if (kind := type(node)) not in LEAVES:
            nodes += CHILDREN[kind](node)
    return nodes


def below(node: ast.expr, names: frozenset[str]) -> ast.expr:
    """What a chain of methods and attributes of these names starts from: `x` of `x.detach().data.float()`."""
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in names:
            node = node.func.value
        elif isinstance(node, ast.Attribute) and node.attr in names:
            node = node.value
        else:
            return node


def below_entries(node: ast.expr, names: frozenset[str]) -> ast.expr:
    """The same, of what is taken out of something as well: `x` of `x[0].detach()["y"]`."""
    while True:
        node = below(node, names)
        if not isinstance(node, ast.Subscript):
            return node
        node = node.value


_NO_BLOCKS: tuple[str, ...] = ()
_HANDLING = ("body", "handlers", "orelse", "finalbody")
BLOCKS: dict[type[ast.AST], tuple[str, ...]] = {
    **dict.fromkeys(
        (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.With, ast.AsyncWith), ("body",)
    ),
    **dict.fromkeys((ast.ExceptHandler, ast.match_case), ("body",)),
    **dict.fromkeys((ast.If, ast.For, ast.AsyncFor, ast.While), ("body", "orelse")),
    ast.Try: _HANDLING,
    ast.Match: ("cases",),
}
if hasattr(ast, "TryStar"):
    BLOCKS[ast.TryStar] = _HANDLING
"""What holds statements, handlers or cases -> the fields that do."""


def blocks_of(node: ast.AST) -> list[ast.AST]:
    """The statements, handlers and cases directly in a node, in order; its expressions are not looked at."""
    found: list[ast.AST] = []
    for name in BLOCKS.get(type(node), _NO_BLOCKS):
        found += getattr(node, name)
    return found


def statements_in(root: ast.AST) -> list[ast.AST]:
    """A node, and the statements, handlers and cases below it, breadth first."""
    nodes = [root]
    for node in nodes:
        nodes += blocks_of(node)
    return nodes


def first_part(node: ast.expr) -> ast.expr:
    """`a` of `a, b`; of anything else, and of the empty `()`, the expression itself."""
    return node.elts[0] if isinstance(node, ast.Tuple) and node.elts else node


def names_of(*nodes: ast.AST) -> set[str]:
    """The plain names in some code, those that it binds too: `x` and `i` of `x.grad[i]`."""
    found: set[str] = set()
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name):
            found.add(node.id)
        else:
            stack += children_of(node)
    return found


def expression_depth(root: ast.AST) -> int:
    """How deep the tree below `root` is, found without recursion."""
    deepest, stack = 0, [(root, 0)]
    while stack:
        node, depth = stack.pop()
        deepest = max(deepest, depth)
        stack.extend((child, depth + 1) for child in children_of(node))
    return deepest


def lines_of(text: str) -> list[str]:
    """The lines of a text as Python's parser counts them."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def side_by_side(targets: ast.Tuple | ast.List, value: ast.expr) -> list[ast.expr] | None:
    """What each target of `a, b = x, y` or `a, b, c = x, *pair` gets; None where one value is taken apart."""
    if not isinstance(value, ast.Tuple | ast.List) or any(isinstance(part, ast.Starred) for part in targets.elts):
        return None
    starred = [place for place, part in enumerate(value.elts) if isinstance(part, ast.Starred)]
    if not starred:
        return value.elts if len(value.elts) == len(targets.elts) else None
    spread, missing = value.elts[starred[0]], len(targets.elts) - len(value.elts) + 1
    if len(starred) > 1 or missing < 0 or not isinstance(spread, ast.Starred):
        return None
    return [*value.elts[: starred[0]], *_elements(spread.value, missing), *value.elts[starred[0] + 1 :]]


def _elements(whole: ast.expr, count: int) -> list[ast.expr]:
    """`pair[0]`, `pair[1]` of `*pair`, where that stands."""
    found = [ast.Subscript(value=whole, slice=ast.Constant(place), ctx=ast.Load()) for place in range(count)]
    return [ast.fix_missing_locations(ast.copy_location(one, whole)) for one in found]
