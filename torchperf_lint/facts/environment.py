"""Where code sets a variable of its own process's environment."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.source import SourceFile
from torchperf_lint.facts.switches import Mark

_ENVIRON = "os.environ"
_SETTERS = {f"{_ENVIRON}.setdefault", "os.putenv", f"{_ENVIRON}.__setitem__"}


def settings_of(file: SourceFile, name: str) -> Iterator[tuple[Mark, ast.expr]]:
    """(place, value) for each `os.environ[name] = value` and its like, in order."""
    body = file.project.body(file.path)
    found: list[tuple[Mark, ast.expr]] = []
    for function in sorted(body.functions) if body is not None else ():
        for node in file.enclosing(function).parents:
            if isinstance(node, ast.Assign | ast.AugAssign | ast.Call):
                mark = Mark(file, node, function)
                found += [(mark, value) for value in _set_by(file, mark, node, name)]
    yield from sorted(found, key=lambda pair: pair[0].frame.at)


def _set_by(file: SourceFile, mark: Mark, node: ast.AST, name: str) -> Iterator[ast.expr]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Subscript) and _is(target.slice, name) and _environ(file, mark, target.value):
                yield node.value
    elif isinstance(node, ast.AugAssign):
        if isinstance(node.op, ast.BitOr) and _environ(file, mark, node.target):
            yield from _in_mapping(node.value, name)
    elif isinstance(node, ast.Call):
        called = file.denotes(node.func, mark)
        if called in _SETTERS and len(node.args) == 2 and _is(node.args[0], name):
            yield node.args[1]
        elif called == f"{_ENVIRON}.update":
            yield from (value for argument in node.args for value in _in_mapping(argument, name))
            yield from (keyword.value for keyword in node.keywords if keyword.arg == name)


def _in_mapping(node: ast.expr, name: str) -> Iterator[ast.expr]:
    """The value for a key of `{"NAME": value}` or `dict(NAME=value)`."""
    if isinstance(node, ast.Dict):
        yield from (v for k, v in zip(node.keys, node.values, strict=True) if k is not None and _is(k, name))
    elif isinstance(node, ast.Call):
        yield from (keyword.value for keyword in node.keywords if keyword.arg == name)


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == name


def _environ(file: SourceFile, mark: Mark, node: ast.expr) -> bool:
    return file.denotes(node, mark) == _ENVIRON
