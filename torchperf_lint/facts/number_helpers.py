"""Functions of the project that give the number of whatever they are given: `to_item(loss)` is no tensor.

    def to_item(x):
        if isinstance(x, (float, int)):
            return x
        return x.item()

The read is in the function, and told there once; what it gives is compared, written and computed with on the host.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bodies import Body
from torchperf_lint.facts.chains import chain, last_part
from torchperf_lint.facts.records import Function
from torchperf_lint.facts.syntax import below, nodes_of

_SHORT = 14
"""Lines of a function that does nothing else."""
_READS = ("item", "float", "int", "bool")
_VIEWS = frozenset("data detach cpu numpy float double mean sum squeeze view reshape".split())
_TYPE_TESTS = frozenset("isinstance is_tensor hasattr type callable dim len size numel".split())
"""Functions that ask what something is, or how many it is."""
_OF_OLD = "torch.__version__"


def gives_a_number(body: Body, index: int, function: Function) -> bool:
    """Whether a short function reads its first parameter on the host, and leaves only numbers as they are."""
    if function.end_line - function.line > _SHORT or len(function.parameters) <= function.bound:
        return False
    returned, name = body.returns(index), function.parameters[function.bound].name
    kinds = [_kind(node, name) for node in returned]
    if not kinds or None in kinds:
        return False
    node = body.functions.get(index)
    if not isinstance(node, ast.FunctionDef):
        return False
    if "read" not in kinds:
        return kinds == ["as it is"] and _reads_it_first(node, name)
    return set(kinds) == {"read"} or _asks_for_its_type(node, name)


def _kind(node: ast.expr, name: str) -> str | None:
    """What a function returns of a parameter: the number of it, itself, or its only element, as torch did of old."""
    if isinstance(node, ast.Name):
        return "as it is" if node.id == name else None
    if isinstance(node, ast.Subscript):
        whole = below(node.value, _VIEWS)
        first = isinstance(node.slice, ast.Constant) and node.slice.value == 0
        return "as it is" if first and isinstance(whole, ast.Name) and whole.id == name else None
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


def _asks_for_its_type(node: ast.FunctionDef, name: str) -> bool:
    """`isinstance(x, float)`, `hasattr(x, "item")`, the version of torch: nothing that callers choose."""
    tests = [part.test for part in nodes_of(node) if isinstance(part, ast.If | ast.IfExp)]
    return all(_is_of_type(test, name, node) for test in tests)


def _is_of_type(test: ast.expr, name: str, node: ast.FunctionDef) -> bool:
    parts = list(ast.walk(test))
    asked = {part.id for part in parts if isinstance(part, ast.Name)}
    if name not in asked:
        return not asked or any(isinstance(part, ast.Attribute) and chain(part) == _OF_OLD for part in parts)
    if asked & {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)} != {name}:
        return False
    calls = [part for part in parts if isinstance(part, ast.Call)]
    return all(last_part(chain(call.func)) in _TYPE_TESTS for call in calls)


def _reads_it_first(node: ast.FunctionDef, name: str) -> bool:
    """`if torch.is_tensor(x): x = x.item()`, before what is left is given back."""
    first = node.body[-2] if len(node.body) > 1 else None
    if not isinstance(first, ast.If) or first.orelse or len(first.body) != 1 or not isinstance(first.test, ast.Call):
        return False
    bound = first.body[0]
    if not isinstance(bound, ast.Assign) or len(bound.targets) != 1 or chain(bound.targets[0]) != name:
        return False
    return _is_read(bound.value, name) and _is_of_type(first.test, name, node)
