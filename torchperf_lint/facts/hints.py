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
    parameters = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    hint = next((a.annotation for a in parameters if a.arg == name), None)
    if hint is not None:
        words = {n.id for n in ast.walk(hint) if isinstance(n, ast.Name)}
        words |= {n.attr for n in ast.walk(hint) if isinstance(n, ast.Attribute)} - {"typing"}
        return words - {"typing", "Any"} <= _NUMERIC_HINT and bool(words & {"int", "float", "bool"})
    return _is_numbers(default_of(node, name))


def default_of(node: ast.AST | None, name: str) -> ast.expr | None:
    """The default of a parameter of a function as written; None for one without, and for what is no function."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    plain = [*node.args.posonlyargs, *node.args.args]
    pairs = [
        *zip(reversed(plain), reversed(node.args.defaults), strict=False),
        *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True),
    ]
    return next((default for argument, default in pairs if argument.arg == name), None)


def _is_numbers(node: ast.expr | None) -> bool:
    if isinstance(node, ast.List | ast.Tuple):
        return bool(node.elts) and all(_is_numbers(element) for element in node.elts)
    if isinstance(node, ast.UnaryOp):
        return _is_numbers(node.operand)
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)
