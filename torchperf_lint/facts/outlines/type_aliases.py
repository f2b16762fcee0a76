"""Names that a module gives to types: `OptTensor = Optional[Tensor]`, `T = TypeVar("T", bound=Tensor)`, `NewType`."""

from __future__ import annotations

import ast
import re

from torchperf_lint.facts.outlines.signatures import annotation_chain
from torchperf_lint.facts.syntax.chains import chain, last_part

_CLASS = re.compile(r"[\w.]+")


def aliased_class(node: ast.expr) -> str:
    """The chain of the class that an alias stands for; empty for what is no alias, and for one of a container.

    Of a type variable with several constraints the first one speaks for all; an unbound one stands for anything.
    """
    of = _of(node)
    told = annotation_chain(of) if of is not None else ""
    return told if _CLASS.fullmatch(told) else ""


def _of(node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.Subscript):
        return node if last_part(chain(node.value)) in ("Optional", "Union", "Annotated") else None
    if isinstance(node, ast.BinOp):
        return node if isinstance(node.op, ast.BitOr) else None
    if not isinstance(node, ast.Call):
        return None
    made = last_part(chain(node.func))
    if made == "NewType":
        return node.args[1] if len(node.args) == 2 else None
    if made != "TypeVar":
        return None
    bound = next((k.value for k in node.keywords if k.arg == "bound"), None)
    return bound if bound is not None else next(iter(node.args[1:]), None)
