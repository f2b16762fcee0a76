"""Where code sets a variable of its own process's environment, and how to take that out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.errors import CannotFix
from torchperf_lint.facts.files.concrete import cst
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.switches import Mark
from torchperf_lint.facts.fixes import importing
from torchperf_lint.facts.fixes.edits import Editor
from torchperf_lint.facts.fixes.listing import Listing
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.literals import is_literal
from torchperf_lint.model import Edit

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
        for target in (t for t in node.targets if isinstance(t, ast.Subscript)):
            if is_literal(target.slice, name) and _environ(file, mark, target.value):
                yield node.value
    elif isinstance(node, ast.AugAssign):
        if isinstance(node.op, ast.BitOr) and _environ(file, mark, node.target):
            yield from _in_mapping(node.value, name)
    elif isinstance(node, ast.Call):
        called = file.denotes(node.func, mark)
        if called in _SETTERS and len(node.args) == 2 and is_literal(node.args[0], name):
            yield node.args[1]
        elif called == f"{_ENVIRON}.update":
            yield from (value for argument in node.args for value in _in_mapping(argument, name))
            yield from (keyword.value for keyword in node.keywords if keyword.arg == name)


def _in_mapping(node: ast.expr, name: str) -> Iterator[ast.expr]:
    """The value for a key of `{"NAME": value}` or `dict(NAME=value)`."""
    if isinstance(node, ast.Dict):
        yield from (v for k, v in zip(node.keys, node.values, strict=True) if k is not None and is_literal(k, name))
    elif isinstance(node, ast.Call):
        yield from (keyword.value for keyword in node.keywords if keyword.arg == name)


def _environ(file: SourceFile, mark: Mark, node: ast.expr) -> bool:
    return file.denotes(node, mark) == _ENVIRON


# -- taking it out -------------------------------------------------------------------------------------------


def unset(edit: Editor, node: ast.expr | ast.stmt, name: str) -> list[Edit]:
    """Take a setting of `name` out: its entry where a mapping holds others, else its statement and its import.

    Raises CannotFix where its value is used, or where what stands around it would make no sense without it.
    """
    entries = _entries(node)
    if len(entries) > 1:
        return _without_entry(edit, entries, name)
    if isinstance(node, ast.Assign) and len(node.targets) > 1:
        raise CannotFix("the same assignment sets something else")
    statement = edit.statement(node)
    if not isinstance(node, ast.stmt) and not (isinstance(statement, cst.Expr) and statement.value is edit.node(node)):
        raise CannotFix("its value is used")
    head = chain(_named(node)).partition(".")[0]
    return edit.drop_statement(_guard_or(edit, statement)) + importing.release(edit, head, 1)


def _named(node: ast.expr | ast.stmt) -> ast.expr:
    """What a setting is written with: `os.environ` of `os.environ[...] = "1"`."""
    if isinstance(node, ast.Call):
        return node.func
    assert isinstance(node, ast.Assign | ast.AugAssign)
    target = node.target if isinstance(node, ast.AugAssign) else node.targets[0]
    return target.value if isinstance(target, ast.Subscript) else target


def _guard_or(edit: Editor, statement: cst.CSTNode) -> cst.CSTNode:
    """What goes: a statement, or the `if torch.cuda.is_available():` around nothing else."""
    parents = edit.unit.parents
    line = parents[statement]
    block = parents[line] if isinstance(line, cst.SimpleStatementLine) else line
    alone = len(getattr(line, "body", ())) == 1 and len(getattr(block, "body", ())) == 1
    around = parents.get(block)
    if alone and isinstance(around, cst.If | cst.Else):
        is_elif = isinstance(parents[around], cst.If)
        if is_elif or not isinstance(around, cst.If) or around.orelse is not None:
            raise CannotFix("a branch would be left empty")
        if not edit.source(around.test).endswith(".is_available()"):
            raise CannotFix("an `if` would be left empty")
        statement = around
    start = edit.line_start(edit.span(statement)[0])
    above = edit.text[edit.previous_line(start) : start]
    if above.lstrip().startswith("#"):
        raise CannotFix("the comment above may be about it")
    return statement


def _entries(node: ast.expr | ast.stmt) -> list[tuple[ast.expr | None, ast.expr]]:
    """(key, value) of each entry of the one mapping that a statement adds to the environment."""
    given = node.value if isinstance(node, ast.AugAssign) else None
    if isinstance(node, ast.Call):
        if len(node.args) + len(node.keywords) > 1 and chain(node.func).endswith(".update"):
            raise CannotFix("it sets something else")
        given = node.args[0] if node.args else None
    if isinstance(given, ast.Dict):
        return list(zip(given.keys, given.values, strict=True))
    if isinstance(given, ast.Call) and len(given.args) + len(given.keywords) > 1:
        raise CannotFix("it sets something else")
    return []


def _without_entry(edit: Editor, entries: list[tuple[ast.expr | None, ast.expr]], name: str) -> list[Edit]:
    if any(key is None for key, _ in entries):
        raise CannotFix("an unpacked mapping may hold it too")
    spans = tuple((edit.span(key)[0], edit.outer_end(value)) for key, value in entries if key is not None)
    (index,) = [i for i, (key, _) in enumerate(entries) if key is not None and is_literal(key, name)]
    mapping = edit.around(entries[0][1], cst.Dict)
    assert mapping is not None
    start, end = edit.span(mapping)
    return Listing(edit.text, spans, start + 1, end - 1).drop(index)
