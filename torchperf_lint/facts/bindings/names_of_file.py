"""What one file says of each name: what it gives it, whose parameter it is, where it reads it. From syntax alone."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import nodes_of

_READS = frozenset({"getattr", "hasattr", "get", "pop"})
_ASKS = frozenset({"isinstance", "issubclass", "super"})
_CONSTRUCTORS = frozenset({"__init__", "__new__"})
OTHER_NAMES = ("__init__", "cls", "type")
"""What constructors are called by, beside the names of their classes: `super().__init__(dim)`, `type(self)(dim)`."""
Given = ast.expr | None
"""What a name is given somewhere; None for what nobody sees."""
Place = tuple[int, int]
"""1-based line, 0-based byte, as `ast` counts."""


class Parameter(NamedTuple):
    """Of a function or constructor."""

    owner: str
    """The name of the function, or of the class of a constructor."""
    number: int
    """Its place among those that calls give by their order, from 0; -1 where they cannot."""
    default: ast.expr | None


class NamesOfFile:
    """What one file says of names."""

    def __init__(self, path: str, tree: ast.AST) -> None:
        self.path = path
        self.given: dict[str, list[Given]] = defaultdict(list)
        self.parameters: dict[str, list[Parameter]] = defaultdict(list)
        self.calls: dict[str, list[ast.Call]] = defaultdict(list)
        self.inner: dict[str, list[ast.Call]] = defaultdict(list)
        """Class -> what it calls constructors of its own kin with: `super().__init__(dim)`, `cls(dim)`."""
        self.below: dict[str, list[str]] = defaultdict(list)
        """The last part of a base's name -> the classes that name it."""
        self.handed: set[str] = set()
        """Names of what is handed on and not called: `make_layer(Block, 64)`."""
        self.mentions: dict[str, list[Place]] = defaultdict(list)
        """Name -> where it is read, by itself or as an attribute, or stands in a string."""
        self._read: set[int] = set()
        for node in nodes_of(tree):
            self._note(node)

    def _note(self, node: ast.AST) -> None:
        note = _NOTES.get(type(node))
        if note is not None:
            note(self, node)

    def _assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._target(target, node.value)

    def _set(self, node: ast.AnnAssign | ast.NamedExpr) -> None:
        self._target(node.target, node.value)

    def _bind(self, node: ast.AugAssign | ast.For | ast.AsyncFor | ast.comprehension) -> None:
        self._target(node.target, None)

    def _with(self, node: ast.withitem) -> None:
        if node.optional_vars is not None:
            self._target(node.optional_vars, None)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            self.given[(alias.asname or alias.name).partition(".")[0]].append(None)

    def _lambda(self, node: ast.Lambda) -> None:
        for place in nodes_of(node.args):
            self.given[getattr(place, "arg", "")].append(None)

    def _dict(self, node: ast.Dict) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            self._key(key, value)

    def _item(self, node: ast.Subscript) -> None:
        if isinstance(node.ctx, ast.Load):
            self._read.add(id(node.slice))

    def _text(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and id(node) not in self._read:
            for name in _names(node.value):
                self.given[name].append(None)
                self.mentions[name].append((node.lineno, node.col_offset))

    def _mention(self, node: ast.Name | ast.Attribute) -> None:
        name = node.id if isinstance(node, ast.Name) else node.attr
        if isinstance(node, ast.Attribute):
            self._read.add(id(node.value))  # `Block.expansion`
        if isinstance(node.ctx, ast.Load):
            self.mentions[name].append((node.lineno, node.col_offset))
            if id(node) not in self._read:
                self.handed.add(name)

    def _key(self, key: ast.expr | None, value: ast.expr) -> None:
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            self._read.add(id(key))
            for name in _names(key.value):
                self.given[name].append(value if name == key.value else None)

    def _target(self, target: ast.expr, value: Given) -> None:
        if isinstance(target, ast.Name):
            self.given[target.id].append(value)
        elif isinstance(target, ast.Attribute):
            self.given[target.attr].append(value)
        elif isinstance(target, ast.Subscript):
            self._key(target.slice, value if value is not None else target)
        elif isinstance(target, ast.Tuple | ast.List | ast.Starred):
            for part in target.elts if not isinstance(target, ast.Starred) else [target.value]:
                self._target(part, None)

    def _call(self, node: ast.Call) -> None:
        name = last_part(chain(node.func))
        self.calls[name].append(node)
        self._read.add(id(node.func))
        if name in _READS or name in _ASKS:
            self._read |= {id(part) for arg in node.args[:2] for part in (arg, *getattr(arg, "elts", ()))}
        for keyword in node.keywords:
            if keyword.arg:
                self.given[keyword.arg].append(keyword.value)

    def _class(self, node: ast.ClassDef) -> None:
        self.given[node.name].append(None)
        for base in node.bases:
            self.below[last_part(chain(base))].append(node.name)
            self._read.add(id(base))
        calls = [part for part in nodes_of(node) if isinstance(part, ast.Call)]
        self.inner[node.name] += [call for call in calls if last_part(chain(call.func)) in OTHER_NAMES]
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                self.given[statement.target.id].append(None)  # a field: given by its place, or by who reads options
            elif isinstance(statement, ast.FunctionDef) and statement.name in _CONSTRUCTORS:
                self._function(statement, node.name, 1)

    def _defined(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.given[node.name].append(None)
        if node.name not in _CONSTRUCTORS:
            self._function(node, node.name, 0)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, owner: str, bound: int) -> None:
        places = [*node.args.posonlyargs, *node.args.args]
        first = len(places) - len(node.args.defaults)
        for number, place in enumerate(places):
            # A method is called with one fewer than it has, a function with all.
            order = max(number - (bound or _is_method(places)), 0)
            default = node.args.defaults[number - first] if number >= first else None
            self.parameters[place.arg].append(Parameter(owner, order, default))
        for place, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
            self.parameters[place.arg].append(Parameter(owner, -1, default))
        for star in filter(None, (node.args.vararg, node.args.kwarg)):
            self.given[star.arg].append(None)


_NOTES: dict[type[ast.AST], Callable[[NamesOfFile, Any], None]] = {
    ast.Call: NamesOfFile._call,
    ast.ClassDef: NamesOfFile._class,
    ast.FunctionDef: NamesOfFile._defined,
    ast.AsyncFunctionDef: NamesOfFile._defined,
    ast.Assign: NamesOfFile._assign,
    ast.AnnAssign: NamesOfFile._set,
    ast.NamedExpr: NamesOfFile._set,
    ast.AugAssign: NamesOfFile._bind,
    ast.For: NamesOfFile._bind,
    ast.AsyncFor: NamesOfFile._bind,
    ast.comprehension: NamesOfFile._bind,
    ast.withitem: NamesOfFile._with,
    ast.Import: NamesOfFile._import,
    ast.ImportFrom: NamesOfFile._import,
    ast.Lambda: NamesOfFile._lambda,
    ast.Dict: NamesOfFile._dict,
    ast.Subscript: NamesOfFile._item,
    ast.Constant: NamesOfFile._text,
    ast.Name: NamesOfFile._mention,
    ast.Attribute: NamesOfFile._mention,
}


def _is_method(places: list[ast.arg]) -> bool:
    return bool(places) and places[0].arg in ("self", "cls")


def _names(text: str) -> list[str]:
    """The names that a string may mean: `average`, `--no-average`, `model.average=True`; none of a sentence."""
    if " " in text.strip():
        return []
    names = [name.replace("-", "_") for name in re.findall(r"[^\W\d][\w-]*", text)]
    return [*names, *(name.removeprefix("no_") for name in names if name.startswith("no_"))]
