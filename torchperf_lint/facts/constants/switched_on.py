"""Branches of options that are off by default: `if self.sparse:` of `sparse=False`, `if cfg.get("sparse", False):`,
`if self.margin > 0:` of `margin=-1`."""

from __future__ import annotations

import ast

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.constants.given_when_made import is_given_more
from torchperf_lint.facts.constants.off_flags import OffFlags
from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.outlines.signatures import defaulted
from torchperf_lint.facts.syntax.chains import chain

_ASKED = 2
"""Arguments of `cfg.get("sparse", False)`."""


def is_switched_on(place: Place) -> bool:
    """Whether only an option that is off by default leads to a place of a function."""
    node = place.expression
    if isinstance(node, ast.expr) and OffFlags(place.file, place.function).before(node) is not None:
        return True
    around = place.file.enclosing(place.function)
    inner: ast.AST = node
    for parent in around.around(inner):
        if isinstance(parent, ast.If) and any(inner is statement for statement in parent.body):
            both = isinstance(parent.test, ast.BoolOp) and isinstance(parent.test.op, ast.And)
            parts = parent.test.values if both and isinstance(parent.test, ast.BoolOp) else [parent.test]
            if any(_is_off(place, part) for part in parts):
                return True
        inner = parent
    return False


def _is_off(place: Place, test: ast.expr) -> bool:
    if isinstance(test, ast.Call):
        asked = isinstance(test.func, ast.Attribute) and test.func.attr == "get" and len(test.args) == _ASKED
        off = test.args[-1] if asked else None
        return isinstance(off, ast.Constant) and off.value is False
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Gt):
        return False
    least, attribute = _number(test.comparators[0]), chain(test.left)
    made = _constructor_around(place) if attribute.startswith("self.") else None
    if least is None or made is None:
        return False
    option = attribute.removeprefix("self.")
    default = _number(_default_of(place, made, option))
    return default is not None and default <= least and not is_given_more(place.file.project, made, option, least)


def _constructor_around(place: Place) -> FunctionKey | None:
    functions = place.file.outline.functions
    own = functions[place.function].class_index
    made = next((i for i, f in enumerate(functions) if f.class_index == own >= 0 and f.name == "__init__"), None)
    return FunctionKey(place.file.path, made) if made is not None else None


def _default_of(place: Place, key: FunctionKey, name: str) -> ast.expr | None:
    """What a constructor gives to an option that nobody passes, which it keeps by its name."""
    body = place.file.project.body(key.path)
    constructor = body.functions.get(key.index) if body is not None else None
    if not isinstance(constructor, ast.FunctionDef):
        return None
    return dict(defaulted(constructor.args)).get(name)


def _number(node: ast.expr | None) -> float | None:
    negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    bare = node.operand if negative and isinstance(node, ast.UnaryOp) else node
    if not isinstance(bare, ast.Constant) or not isinstance(bare.value, int | float):
        return None
    return -bare.value if negative else bare.value
