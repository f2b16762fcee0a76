"""Values of calls: who answers for which callee."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.chains import chain
from torchperf_lint.facts.externals import BUILTIN_RESULTS, PROGRESS, value_of_builtin, value_of_external
from torchperf_lint.facts.index import FunctionKey, Thing
from torchperf_lint.facts.methods import value_of_method
from torchperf_lint.facts.results import as_a_module_would, made_by_project, module_output, returned
from torchperf_lint.facts.value import (
    UNKNOWN,
    Frame,
    Value,
)

if TYPE_CHECKING:
    from torchperf_lint.facts.values import Values


def value_of_call(values: Values, node: ast.Call, frame: Frame) -> Value:
    """The value of a call."""
    callee = chain(node.func)
    thing = values.types.thing(frame.path, frame.function, callee)
    if thing is not None and thing.kind == "external" and "()" not in thing.dotted:
        return value_of_external(values, node, thing.dotted, frame)
    if isinstance(node.func, ast.Attribute) and not _is_plain_function(values, thing):
        found = value_of_method(values, node, node.func, frame)
        if found is not None:
            return found
    if (
        isinstance(node.func, ast.Name)
        and node.func.id in BUILTIN_RESULTS
        and (thing is None or thing.kind == "external")
    ):
        return value_of_builtin(values, node, node.func.id, frame)
    if thing is not None and thing.kind in ("class", "function"):
        return made_by_project(values, node, thing, frame)
    return _called_value(values, node, frame)


def _is_plain_function(values: Values, thing: Thing | None) -> bool:
    """A function or class of the project that is reached through its module, not through an object."""
    if thing is None or thing.kind not in ("function", "class"):
        return False
    return thing.kind == "class" or values.index.function(FunctionKey(thing.path, thing.index)).class_index < 0


def _called_value(values: Values, node: ast.Call, frame: Frame) -> Value:
    target = values.of(node.func, frame)
    if target.kind == "module":
        return module_output(values, node, target, frame)
    if target.kind == "object" and target.thing is not None and target.thing.kind == "instance":
        key = values.index.method(target.thing, "__call__")
        return returned(values, key, frame) if key else UNKNOWN
    if isinstance(node.func, ast.Attribute | ast.Name) and PROGRESS.search(chain(node.func)) and node.args:
        return values.of(node.args[0], frame)
    return as_a_module_would(values, node, frame) if target.kind == "unknown" else UNKNOWN
