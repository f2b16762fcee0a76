"""What the signature of a function promises of a parameter."""

from __future__ import annotations

import ast

from torchperf_lint.facts.bodies import Body

_NUMERIC_HINT = frozenset("int float bool number Number Tuple tuple List list Sequence Iterable Union Optional".split())


def numeric_parameter(body: Body, function: int, name: str) -> bool:
    """A parameter that its annotation or default shows to be a number or a list of them."""
    node = body.functions.get(function)
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    plain = [*node.args.posonlyargs, *node.args.args]
    defaults: dict[str, ast.expr | None] = {}
    for argument, default in zip(reversed(plain), reversed(node.args.defaults), strict=False):
        defaults[argument.arg] = default
    for argument, given in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        defaults[argument.arg] = given
    hint = next((a.annotation for a in [*plain, *node.args.kwonlyargs] if a.arg == name), None)
    if hint is not None:
        words = {n.id for n in ast.walk(hint) if isinstance(n, ast.Name)}
        words |= {n.attr for n in ast.walk(hint) if isinstance(n, ast.Attribute)} - {"typing"}
        return words - {"typing", "Any"} <= _NUMERIC_HINT and bool(words & {"int", "float", "bool"})
    return _is_numbers(defaults.get(name))


def _is_numbers(node: ast.expr | None) -> bool:
    if isinstance(node, ast.List | ast.Tuple):
        return bool(node.elts) and all(_is_numbers(element) for element in node.elts)
    if isinstance(node, ast.UnaryOp):
        return _is_numbers(node.operand)
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)
