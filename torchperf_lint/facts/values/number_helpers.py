"""Functions of the project that give the number of whatever they are given: `to_item(loss)` is no tensor.

    def to_item(x):
        if isinstance(x, (float, int)):
            return x
        return x.item()

The read is in the function, and told there once; what it gives is compared, written and computed with on the host.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.number_tests import ends_in_numbers
from torchperf_lint.facts.outlines.records import Function
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import below

_SHORT = 14
"""Lines of a function that does nothing else."""
_READS = ("item", "float", "int", "bool")
_VIEWS = frozenset("data detach cpu numpy float double mean sum squeeze view reshape".split())


def gives_a_number(body: Body, index: int, function: Function) -> bool:
    """Whether a short function reads its first parameter on the host, and leaves only numbers as they are."""
    if function.end_line - function.line > _SHORT or len(function.parameters) <= function.bound:
        return False
    returned, name = body.returns(index), function.parameters[function.bound].name
    node = body.functions.get(index)
    if not returned or not isinstance(node, ast.FunctionDef):
        return False
    read = all(_kind(part, name) == "read" for part in returned)
    return read or ends_in_numbers(node, name, lambda part: _kind(part, name))


def _kind(node: ast.expr, name: str) -> str | None:
    """What a function returns of a parameter: the number of it, itself, or its only element, as torch did of old."""
    if isinstance(node, ast.Name):
        return "as it is" if node.id == name else None
    if isinstance(node, ast.Subscript):
        whole = below(node.value, _VIEWS)
        first = isinstance(node.slice, ast.Constant) and node.slice.value == 0
        return "element" if first and isinstance(whole, ast.Name) and whole.id == name else None
    return "read" if _is_read(node, name) else None


def _is_read(node: ast.expr, name: str) -> bool:
    """`x.detach().cpu().item()`, `float(x)`."""
    if not isinstance(node, ast.Call) or last_part(chain(node.func)) not in _READS or node.keywords:
        return False
    if isinstance(node.func, ast.Attribute):
        read: ast.expr = node.func.value
        if node.args or node.func.attr != "item":
            return False
    elif len(node.args) == 1:
        read = node.args[0]
    else:
        return False
    whole = below(read, _VIEWS)
    return isinstance(whole, ast.Name) and whole.id == name
