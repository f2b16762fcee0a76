"""Python's own syntax trees: parsed with the reasons of refusal, walked without recursion."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

from torchperf_lint.errors import CannotCheck

MAX_DEPTH = 1_000
"""Deeper expressions crash libcst's native parser; the cap is the same on every Python. CPython refuses brackets
nested more than 200 deep by itself."""


def parse(text: str) -> ast.Module:
    """The syntax tree of a file's text.

    Raises CannotCheck for what CPython refuses, with the reason and line.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        raise CannotCheck(f"syntax error: {error.msg}", error.lineno) from None
    except RecursionError:
        raise CannotCheck("nested too deeply for Python's own parser") from None
    except MemoryError:
        raise CannotCheck("too large or too deeply nested for Python's own parser") from None
    except ValueError as error:
        raise CannotCheck(f"not Python source: {error}") from None


def _child_fields(node_type: type[ast.AST]) -> tuple[str, ...]:
    skipped = {"ctx", "op", "ops", "kind", "id", "attr", "arg", "conversion", "is_async", "simple", "type_comment"}
    return tuple(name for name in node_type._fields if name not in skipped)


_CHILDREN: dict[type[ast.AST], tuple[str, ...]] = {}


def children_of(node: ast.AST) -> Iterator[ast.AST]:
    """Child nodes in field order, without contexts and operators."""
    kind = type(node)
    fields = _CHILDREN.get(kind)
    if fields is None:
        fields = _CHILDREN[kind] = _child_fields(kind)
    for name in fields:
        value = getattr(node, name, None)
        if value.__class__ is list:
            for item in value:
                if isinstance(item, ast.AST):
                    yield item
        elif isinstance(value, ast.AST):
            yield value


def expression_depth(root: ast.AST) -> int:
    """How deep the tree below `root` is, found without recursion."""
    deepest, stack = 0, [(root, 0)]
    while stack:
        node, depth = stack.pop()
        deepest = max(deepest, depth)
        stack.extend((child, depth + 1) for child in children_of(node))
    return deepest


def byte_lines(text: str) -> list[bytes]:
    """The lines of a text as bytes, for turning columns in bytes into columns in code points."""
    return [line.encode("utf-8", "replace") for line in re.split(r"\r\n|\r|\n", text)]
