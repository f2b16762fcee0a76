"""Parameters that a function's documentation says to be tensors, where no annotation says what they are.

def add_ends(padded, eos):                     def loss(pred, weight=None):
    \"\"\":param torch.Tensor padded: (B, T)\"\"\"        \"\"\"Args: pred (torch.Tensor): the prediction.\"\"\"
"""

from __future__ import annotations

import ast
import re
from weakref import WeakKeyDictionary

from torchperf_lint.facts.bodies import Body
from torchperf_lint.patterns import pattern

_CLASS = r"(?:torch\.)?(?:Float|Long|Int|Bool)?Tensor"
_TYPE = rf"(?::(?:obj|class|py:class):)?`{{0,2}}~?{_CLASS}`{{0,2}}"
_ALONE = r"(?:\s*,?\s*\(?[\w*]*(?:\s*[,x]\s*[\w*]+)*\)?)?(?:,?\s*(?:optional|default[^)\n]*))?"
"""What may stand beside the class: a shape, and that it need not be given."""
_FORMS = (
    pattern(rf"^[ \t]*:param\s+{_TYPE}\s+(\w+)\s*:", re.MULTILINE),
    pattern(rf"^[ \t]*:type\s+(\w+)\s*:\s*{_TYPE}[ \t]*\.?$", re.MULTILINE),
    pattern(rf"^[ \t]*(\w+)\s*\(\s*{_TYPE}{_ALONE}\s*\)\s*:", re.MULTILINE),
    pattern(rf"^[ \t]*(\w+)\s+:\s*{_TYPE}{_ALONE}[ \t]*\.?$", re.MULTILINE),
)
"""Sphinx, in one line and in two; Google; NumPy."""

_known: WeakKeyDictionary[Body, dict[int, frozenset[str]]] = WeakKeyDictionary()


def is_documented_tensor(body: Body, function: int, name: str) -> bool:
    """Whether the documentation of a function says of a parameter that it is a tensor, and nothing besides."""
    known = _known.setdefault(body, {})
    if function not in known:
        known[function] = _documented(body, function)
    return name in known[function]


def _documented(body: Body, function: int) -> frozenset[str]:
    node = body.functions.get(function)
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return frozenset()
    text = ast.get_docstring(node) or ""
    if "Tensor" not in text:
        return frozenset()
    return frozenset(match.group(1) for form in _FORMS for match in form.finditer(text))
