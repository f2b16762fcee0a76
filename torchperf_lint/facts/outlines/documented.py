"""Tensors that a docstring tells of, where annotations are missing: in Google's style, in numpy's, in Sphinx'.

def rotate(points, angle):
    \"\"\"Rotate points.

    Args:
        points (torch.Tensor): of shape (n, 3)

    Returns:
        torch.Tensor: of shape (n, 3)
    \"\"\"
"""

from __future__ import annotations

import ast
import re

from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.patterns import pattern

GIVEN_BACK = "return"
"""What stands for the value that a function gives back, among the names of its parameters."""
_TENSOR = r"(?::(?:class|obj):)?[`~:]*(?:torch\.)?(?:Long|Float|Bool|Int)?Tensor`*"
_PARAMETER = pattern(
    rf"^[ \t]*(\w+) *\({_TENSOR}(?:\([^()\n|]*\)|,[^()\n|]*|(?: of)? (?:shape|size)[^\n|]*)?\) *:|"
    rf"^[ \t]*(\w+) *: *{_TENSOR}(?:,[^\n|]*| *\(.*\)| of (?:shape|size).*)?$|"
    rf"^[ \t]*:param +{_TENSOR} +(\w+):|^[ \t]*:type +(\w+): *{_TENSOR} *$",
    re.MULTILINE,
)
_RETURNED = pattern(
    rf"^[ \t]*(?:Returns?|Outputs?):?[ \t]*\n(?:[ \t]*-+[ \t]*\n)?[ \t]*(?:\w+ *: *|\w+ *\()?{_TENSOR}(?:\)|[ ,:.]|$)|"
    rf"^[ \t]*:rtype: *{_TENSOR} *$|^[ \t]*:returns?: *{_TENSOR}\b",
    re.MULTILINE,
)
_MASK = pattern(
    r"^[ \t]*(?::(?:param|type) +)?(\w+)(?: *\([^()\n]*\))? *:?[^\n:]*?(?:\([`\w. ]*\bBoolTensor\b|"
    r": *[`\w.\[ ]*\bBoolTensor\b|: *(?:an? |the |optional )?bool(?:ean)?[- ](?:\w+ )?(?:masks?|tensors?)\b)",
    re.MULTILINE | re.IGNORECASE,
)
"""`kept: boolean mask of ...`, `kept (torch.BoolTensor): ...`, `:param kept: a boolean tensor`."""


def documented_masks(node: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    """The parameters of a function that its docstring calls boolean masks, or boolean tensors."""
    text = ast.get_docstring(node, clean=False) or ""
    if "bool" not in text.lower():
        return frozenset()
    own = {a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
    return frozenset(match.group(1) for match in _MASK.finditer(text) if match.group(1) in own)


def leaves_it_open(parameter: ast.arg) -> bool:
    """Whether the annotation of a parameter says nothing: there is none, or it is `Any`, as for what is optional."""
    return parameter.annotation is None or last_part(chain(parameter.annotation)) == "Any"


def documented(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """The parameters of a function that its docstring says are tensors, and `return` where it gives one back."""
    first = node.body[0]
    if not isinstance(first, ast.Expr) or not isinstance(first.value, ast.Constant):
        return []
    text = first.value.value
    if not isinstance(text, str) or "Tensor" not in text:
        return []
    named = {name for match in _PARAMETER.finditer(text) for name in match.groups() if name}
    found = [a.arg for a in (*node.args.posonlyargs, *node.args.args) if a.arg in named and leaves_it_open(a)]
    return [*found, GIVEN_BACK] if found and node.returns is None and _RETURNED.search(text) else found
