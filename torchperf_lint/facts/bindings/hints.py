"""What the signature of a function promises of a parameter."""

from __future__ import annotations

import ast
from functools import lru_cache

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.outlines.signatures import defaulted
from torchperf_lint.facts.syntax.chains import chain

SEQUENCES = frozenset({"Tuple", "tuple", "List", "list", "Sequence", "Iterable"})
"""Words of an annotation that say several."""
NUMBERS = frozenset({"int", "float", "bool", "Number", "number"})
_SCALARS = NUMBERS - {"bool"}
_NUMERIC_HINT = NUMBERS | SEQUENCES | {"Union", "Optional"}


def numeric_parameter(body: Body, function: int, name: str) -> bool:
    """A parameter that its annotation or default shows to be a number or a list of them."""
    node = body.functions.get(function)
    hint = annotation_of(node, name)
    return is_numeric(hint) if hint is not None else are_numbers(default_of(node, name))


def is_numeric(hint: ast.expr) -> bool:
    """Whether an annotation is that of a number or a list of them: `Sequence[float]`, `int | None`."""
    words = _words(hint)
    return words - {"Any"} <= _NUMERIC_HINT and bool(words & {"int", "float", "bool"})


def annotation_words(body: Body, function: int, name: str) -> frozenset[str] | None:
    """The names in the annotation of a parameter, without their modules; None for one that has none."""
    hint = annotation_of(body.functions.get(function), name)
    return _words(hint) if hint is not None else None


def annotation_of(node: ast.AST | None, name: str) -> ast.expr | None:
    """What a parameter of a function is annotated as."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    parameters = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return next((a.annotation for a in parameters if a.arg == name), None)


def gives_numbers(body: Body, function: int) -> bool:
    """Whether a function is annotated to give a list of floating-point numbers."""
    node = body.functions.get(function)
    hint = node.returns if isinstance(node, ast.FunctionDef) else None
    return hint is not None and is_numeric(hint) and "float" in _words(hint) and bool(_words(hint) & SEQUENCES)


@lru_cache(maxsize=512)  # each parameter is asked about at many places
def _words(hint: ast.expr) -> frozenset[str]:
    """The names in an annotation, without the module they are of."""
    names = (n.id if isinstance(n, ast.Name) else getattr(n, "attr", "typing") for n in ast.walk(hint))
    return frozenset(names) - {"typing"}


def default_of(node: ast.AST | None, name: str) -> ast.expr | None:
    """The default of a parameter of a function as written; None for one without, and for what is no function."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    return next((default for parameter, default in defaulted(node.args) if parameter == name), None)


def scalar_parameter(body: Body, function: int, name: str) -> bool:
    """A parameter that its annotation or default shows to be a single number: `n: int`, `eps: float | None = None`."""
    node = body.functions.get(function)
    hint = annotation_of(node, name)
    if hint is not None:
        words = _words(hint)
        return bool(words & _SCALARS) and words <= _SCALARS | {"Optional", "Union", "None"}
    default = default_of(node, name)
    return not isinstance(default, ast.List | ast.Tuple) and are_numbers(default)


def are_numbers(node: ast.expr | None) -> bool:
    """Whether an expression is a number that is written out, or a list of them: `float("inf")`, `2**31 - 1`, too."""
    if isinstance(node, ast.List | ast.Tuple):
        return bool(node.elts) and all(are_numbers(element) for element in node.elts)
    if isinstance(node, ast.UnaryOp):
        return are_numbers(node.operand)
    if isinstance(node, ast.BinOp):
        both = (node.left, node.right)
        return all(map(are_numbers, both)) and not any(isinstance(side, ast.List | ast.Tuple) for side in both)
    if isinstance(node, ast.Call) and chain(node.func) == "float" and len(node.args) == 1:
        return isinstance(node.args[0], ast.Constant)
    if isinstance(node, ast.Attribute):
        return node.attr in ("inf", "nan", "pi") and chain(node.value) in ("math", "np", "numpy", "torch")
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)
