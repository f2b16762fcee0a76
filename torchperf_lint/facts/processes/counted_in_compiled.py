"""Python values that a compiled function was compiled for, and that it changes each time it runs.

Tried out with torch 2.13: after `self.step += 1` in the `forward` of a module, `self.seen.append(...)`, or `N += 1` of
a global, the next call compiles again, eight times; an attribute of an object that is no module becomes dynamic
after the second compilation, and so does a float.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.switches import Mark
from torchperf_lint.facts.processes.compiled_regions import Region, compiled_functions, is_held
from torchperf_lint.facts.syntax.chains import chain

_ALLOWS = ("allow_unspec_int_on_nn_module",)
_CHANGES = (ast.AugAssign, ast.Assign, ast.Call)


class Counted(NamedTuple):
    """A statement of a compiled function that changes what the next call is checked for."""

    mark: Mark
    name: str
    """What is changed, as written."""
    kind: str
    """attribute, list or global."""
    region: Region


def counted_in_compiled(file: SourceFile) -> Iterator[Counted]:
    """Each such statement, in order."""
    if any(word in file.text for word in _ALLOWS):
        return
    for number, region in sorted(compiled_functions(file).items()):
        for node in file.enclosing(number).of_kinds(_CHANGES):
            name, kind = _changed(file, number, node)
            if not kind:
                continue
            assert isinstance(node, ast.expr | ast.stmt)
            mark = Mark(file, node, number)
            if not _may_not_run(file, mark):
                yield Counted(mark, name, kind, region)


def _changed(file: SourceFile, function: int, node: ast.AST) -> tuple[str, str]:
    """What a statement changes, and what that is; empty where it changes nothing that is checked."""
    if isinstance(node, ast.Call):
        called = chain(node.func)
        if called.startswith("self.") and called.count(".") == 2 and called.endswith(".append"):
            name = called.removesuffix(".append")
            return (name, "list") if _starts_as_list(file, function, name) else ("", "")
        return "", ""
    name = _counted_up(node)
    if name.startswith("self.") and name.count(".") == 1:
        return (name, "attribute") if _starts_as_number(file, function, name) else ("", "")
    return (name, "global") if name and _is_global_number(file, function, name) else ("", "")


def _counted_up(node: ast.AST) -> str:
    """`name` of `name += 1`, `name -= 2` and `name = name + 1`; else empty."""
    if isinstance(node, ast.AugAssign):
        return chain(node.target) if _is_step(node.op, node.value) else ""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.value, ast.BinOp):
        name = chain(node.targets[0])
        same = chain(node.value.left) == name and _is_step(node.value.op, node.value.right)
        return name if same else ""
    return ""


def _is_step(operator: ast.operator, by: ast.expr) -> bool:
    return isinstance(operator, ast.Add | ast.Sub) and _is_int(by) and ast.unparse(by) != "0"


def _is_int(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def _starts_as_number(file: SourceFile, function: int, name: str) -> bool:
    """An attribute that the constructor of a module sets to a whole number, and that the function does not set anew."""
    values = _set_to(file, function, name)
    return values is not None and bool(values) and all(map(_is_int, values)) and not _set_anew(file, function, name)


def _starts_as_list(file: SourceFile, function: int, name: str) -> bool:
    """A list that nothing in the file makes empty again."""
    values = _set_to(file, function, name)
    if values is None or len(values) != 1 or not (isinstance(values[0], ast.List) and not values[0].elts):
        return False
    attribute = name.removeprefix("self.")
    emptied = (f".{attribute}.clear", f".{attribute}.pop", f"del self.{attribute}", f".{attribute}[:]")
    return file.text.count(f".{attribute} = ") == 1 and not any(word in file.text for word in emptied)


def _set_to(file: SourceFile, function: int, name: str) -> list[ast.expr] | None:
    """What the constructor of the module that a method belongs to sets an attribute to; None for other functions."""
    index, body = file.project.index, file.project.body(file.path)
    own = index.class_of(file.path, function)
    if own is None or body is None or not file.project.types.is_module_class(own):
        return None
    start = index.method(Thing("class", own.path, own.index), "__init__")
    if start is None or start.path != file.path:
        return None
    attribute = name.removeprefix("self.")
    return [value for named, value, _ in body.self_assignments(start.index) if named == attribute]


def _set_anew(file: SourceFile, function: int, name: str) -> bool:
    """Whether the function itself also gives a name another value, so that every call begins with the same one."""
    for node in file.enclosing(function).of_kinds((ast.Assign,)):
        assert isinstance(node, ast.Assign)
        if any(chain(target) == name for target in node.targets) and not _counted_up(node):
            return True
    return False


def _is_global_number(file: SourceFile, function: int, name: str) -> bool:
    declared = file.enclosing(function).of_kinds((ast.Global,))
    if not any(isinstance(node, ast.Global) and name in node.names for node in declared):
        return False
    top = file.enclosing(0).of_kinds((ast.Assign,))
    values = [n.value for n in top if isinstance(n, ast.Assign) and any(chain(t) == name for t in n.targets)]
    return len(values) == 1 and _is_int(values[0]) and not _set_anew(file, function, name)


def _may_not_run(file: SourceFile, mark: Mark) -> bool:
    """Whether a test other than `if self.training` decides about a statement, or it stands in a loop's `else`."""
    if not is_held(file, mark):
        return False
    around = list(file.enclosing(mark.function).around(mark.expression))
    tests = [node for node in around if isinstance(node, ast.If)]
    plain = all(chain(node.test) == "self.training" for node in tests)
    others = (ast.Try, ast.IfExp, ast.BoolOp, ast.Lambda, ast.While, ast.match_case, ast.ExceptHandler, ast.Assert)
    return not plain or any(isinstance(node, others) for node in around)
