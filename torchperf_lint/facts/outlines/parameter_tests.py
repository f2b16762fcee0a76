"""Branches that the value of a parameter decides: `if dim_size is None:`, `if isinstance(x, dict):`, their other ways.

Decided from one file's syntax, so outlines can hold the answer: the test as text, which calls are held against later.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import NamedTuple

from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.expressions_written import as_written

_OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
}
_SYMBOLS: dict[type[ast.cmpop], str] = {ast.Is: "is", ast.IsNot: "is not", ast.Eq: "==", ast.NotEq: "!="}
_HOLDS: dict[type[ast.cmpop], Callable[[object, object], bool]] = {
    ast.Is: lambda given, wanted: given is wanted,
    ast.IsNot: lambda given, wanted: given is not wanted,
    ast.Eq: lambda given, wanted: given == wanted,
    ast.NotEq: lambda given, wanted: given != wanted,
    ast.In: lambda given, wanted: isinstance(wanted, tuple | list | set) and given in wanted,
    ast.NotIn: lambda given, wanted: isinstance(wanted, tuple | list | set) and given not in wanted,
    ast.Gt: lambda given, wanted: not _are_numbers(given, wanted) or given > wanted,  # type: ignore[operator]
    ast.GtE: lambda given, wanted: not _are_numbers(given, wanted) or given >= wanted,  # type: ignore[operator]
    ast.Lt: lambda given, wanted: not _are_numbers(given, wanted) or given < wanted,  # type: ignore[operator]
    ast.LtE: lambda given, wanted: not _are_numbers(given, wanted) or given <= wanted,  # type: ignore[operator]
}
"""Of what cannot be compared nobody says that it does not hold."""


def _are_numbers(*values: object) -> bool:
    return all(isinstance(value, int | float) for value in values)


UNKNOWN, ANYTHING = object(), object()
"""What a call gives that is no literal: computed, and so not None; or passed on from where nobody looks."""


class Kind(NamedTuple):
    """A value of which only the kind is known: `x.unsqueeze(0)` is a tensor, `loss.item()` a number."""

    name: str


TENSOR, NUMBER, TEXT, LIST, TUPLE, MAPPING, SET, ARRAY = map(
    Kind, ("tensor", "number", "text", "list", "tuple", "mapping", "set", "array")
)
_CLASSES: dict[str, frozenset[Kind]] = {
    "Tensor": frozenset({TENSOR}),
    "int": frozenset({NUMBER}),
    "float": frozenset({NUMBER}),
    "bool": frozenset({NUMBER}),
    "Number": frozenset({NUMBER}),
    "str": frozenset({TEXT}),
    "list": frozenset({LIST}),
    "List": frozenset({LIST}),
    "tuple": frozenset({TUPLE}),
    "Tuple": frozenset({TUPLE}),
    "Sequence": frozenset({LIST, TUPLE, TEXT}),
    "dict": frozenset({MAPPING}),
    "Dict": frozenset({MAPPING}),
    "Mapping": frozenset({MAPPING}),
    "MutableMapping": frozenset({MAPPING}),
    "set": frozenset({SET}),
    "ndarray": frozenset({ARRAY}),
}
"""What the last part of a class's name says of which kinds are instances of it."""


def ways(test: ast.expr, parameters: Collection[str]) -> tuple[str, str]:
    """What parameters must be for the body of an `if` to run, and for its `else`; empty where they do not decide.

    Of several conditions joined by `and` each must hold for the body; of those joined by `or` none for the rest.
    """
    if isinstance(test, ast.Compare):
        return _compared(test, parameters)
    if isinstance(test, ast.BoolOp):
        told = [ways(part, parameters) for part in test.values]
        both = isinstance(test.op, ast.And)
        found = " and ".join(filter(None, (told_of[0 if both else 1] for told_of in told)))
        return (found, "") if both else ("", found)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        holds, fails = ways(test.operand, parameters)
        return fails, holds
    if isinstance(test, ast.Name):
        return (test.id, f"not {test.id}") if test.id in parameters else ("", "")
    if isinstance(test, ast.Call):
        asked = _asked_of_text(test) in parameters or _asked_of_kind(test) in parameters
        written = as_written(test) if asked else ""
        return (written, f"not {written}") if asked else ("", "")
    return "", ""


def _compared(test: ast.Compare, parameters: Collection[str]) -> tuple[str, str]:
    """The same of a comparison: `mode == "fast"`, `dim_size is None`."""
    if len(test.ops) != 1 or not isinstance(test.left, ast.Name) or test.left.id not in parameters:
        return "", ""
    other = _OPPOSITES.get(type(test.ops[0]))
    if other is None or not _is_literal(test.comparators[0]):
        return "", ""
    symbol = _SYMBOLS.get(type(test.ops[0]))
    wanted = test.comparators[0]
    if (
        symbol is not None
        and isinstance(wanted, ast.Constant)
        and (wanted.value is None or isinstance(wanted.value, _WRITTEN_ALIKE))
        and not wanted.kind
    ):
        # What nine of ten tests are, written in a tenth of the time.
        return f"{test.left.id} {symbol} {wanted.value!r}", f"{test.left.id} {_SYMBOLS[other]} {wanted.value!r}"
    opposite = ast.Compare(test.left, [other()], test.comparators)
    return as_written(test), as_written(opposite)


_WRITTEN_ALIKE = (int, str)


def named_freely(loop: ast.For | ast.AsyncFor) -> str:
    """The name that a loop gives each value of a table of `**kwargs`, perhaps: `for key, value in kwargs.items():`."""
    pair, over = loop.target, loop.iter
    if not isinstance(pair, ast.Tuple) or len(pair.elts) != 2 or not isinstance(pair.elts[1], ast.Name):
        return ""
    plain = isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and over.func.attr == "items"
    return pair.elts[1].id if plain and chain(over).count(".") == 1 else ""


def way_past(statement: ast.stmt, parameters: Collection[str]) -> str:
    """What a parameter must be for the rest of a block to run: `if mode == "fast": return f(x)` comes first."""
    if not isinstance(statement, ast.If) or statement.orelse or not isinstance(statement.body[-1], ast.Return):
        return ""
    return ways(statement.test, parameters)[1]


def _asked_of_text(test: ast.Call) -> str:
    """The name of which a call asks how its text begins or ends: `mode.startswith("fast")`."""
    asks = isinstance(test.func, ast.Attribute) and test.func.attr in ("startswith", "endswith")
    literal = len(test.args) == 1 and isinstance(test.args[0], ast.Constant) and not test.keywords
    of = test.func.value if isinstance(test.func, ast.Attribute) else None
    return of.id if asks and literal and isinstance(of, ast.Name) else ""


def _asked_of_kind(test: ast.expr) -> str:
    """The name of which a call asks what it is: `isinstance(x, (list, tuple))`, of classes whose kind is known."""
    if not isinstance(test, ast.Call) or test.keywords or not test.args or not isinstance(test.args[0], ast.Name):
        return ""
    asks = chain(test.func)
    told = len(test.args) == 2 and asks == "isinstance" and all(name in _CLASSES for name in _classes(test.args[1]))
    return test.args[0].id if told or (len(test.args) == 1 and asks == "torch.is_tensor") else ""


def _classes(node: ast.expr) -> list[str]:
    """The last part of the name of each class that a test asks for."""
    if isinstance(node, ast.BinOp):
        return [*_classes(node.left), *_classes(node.right)]
    return [last_part(chain(part)) for part in (node.elts if isinstance(node, ast.Tuple) else [node])]


def _kind_of(value: object) -> Kind | None:
    """The kind of a value that a call gives; None for None and what else is of no class that tests ask for."""
    if isinstance(value, Kind):
        return value
    return NUMBER if isinstance(value, int | float | complex) else TEXT if isinstance(value, str) else None


def each_way(joined: str) -> list[str]:
    """The ways that must all be taken, of several in one text."""
    test = _parsed(joined)
    return [ast.unparse(part) for part in test.values] if isinstance(test, ast.BoolOp) else [joined]


@lru_cache(maxsize=1024)
def _parsed(way: str) -> ast.expr:
    return ast.parse(way, mode="eval").body


@lru_cache(maxsize=1024)
def parameter_of(way: str) -> str:
    """The parameter that a way through a function depends on."""
    test = _parsed(way)
    asked = test.operand if isinstance(test, ast.UnaryOp) else test
    return _asked_of_kind(asked) or next(node.id for node in ast.walk(test) if isinstance(node, ast.Name))


def may_hold(way: str, value: object) -> bool:
    """Whether the way is taken where the parameter is `value`; also where that is not known."""
    test = _parsed(way)
    if value is ANYTHING:
        return True
    if isinstance(test, ast.Compare):
        wanted = ast.literal_eval(test.comparators[0])
        if value is UNKNOWN or isinstance(value, Kind):
            return not (isinstance(test.ops[0], ast.Is) and wanted is None)
        return _HOLDS[type(test.ops[0])](value, wanted)
    negated = isinstance(test, ast.UnaryOp)
    asked = test.operand if isinstance(test, ast.UnaryOp) else test
    if value is UNKNOWN:
        return True
    if _asked_of_kind(asked):
        classes = _classes(asked.args[1]) if len(asked.args) > 1 else ["Tensor"]  # type: ignore[attr-defined]
        return any(_kind_of(value) in _CLASSES[name] for name in classes) is not negated
    if isinstance(value, Kind):
        return True
    if isinstance(asked, ast.Call) and isinstance(asked.func, ast.Attribute):
        method = getattr(value, asked.func.attr, None)
        return method is None or bool(method(ast.literal_eval(asked.args[0]))) is not negated
    return bool(value) is not negated


_SEVERAL = (ast.Tuple, ast.List, ast.Set)


def _is_literal(node: ast.expr) -> bool:
    if isinstance(node, _SEVERAL):
        return all(isinstance(part, ast.Constant) for part in node.elts)
    return isinstance(node, ast.Constant)
