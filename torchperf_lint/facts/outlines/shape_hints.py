"""Annotations that say a tensor's shape beside its class, and unions that leave one class.

    def render(rays: Float[Tensor, "*batch 3"], lengths: int["b"], weights: Union[Tensor, None]): ...

jaxtyping, torchtyping and einops-like hints put the shape into the brackets, as text.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_none, is_text

_HOLDING = frozenset({"Tuple", "List", "Sequence", "Iterable", "Dict", "Mapping", "Callable", "Literal"})
_ELEMENTS = frozenset({"int", "float", "bool", "complex"})


def bare_class(node: ast.expr) -> ast.expr | None:
    """The one class that an annotation with brackets stands for; None for containers and all others."""
    name = last_part(chain(node.value)) if isinstance(node, ast.Subscript) else "Tuple"
    if name in _HOLDING or not isinstance(node, ast.Subscript):
        return None
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if name == "Union":
        classes = [part for part in parts if not is_none(part)]
        return classes[0] if len(classes) == 1 < len(parts) else None
    if name in _ELEMENTS and all(map(is_text, parts)):
        return ast.Attribute(ast.Name("torch", ast.Load()), "Tensor", ast.Load())
    shaped = len(parts) > 1 and (name == "Annotated" or all(map(is_text, parts[1:])))
    return parts[0] if shaped and last_part(chain(parts[0])) == "Tensor" and name[:1].isupper() else None
