"""Calls that compute each row by itself, whatever rows stand beside it: a norm or a softmax along the features, a loss
of single samples. What a mask picks can go through them before or after the choice.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.syntax.arguments import keyword
from torchperf_lint.facts.syntax.literals import is_literal, literal_of

_ALONG = frozenset(
    "norm vector_norm softmax log_softmax normalize logsumexp mean sum prod amax amin max min median std var".split()
)
"""What reduces or normalises along `dim`."""
_PAIRS = frozenset("cosine_similarity pairwise_distance".split())
"""What compares rows, along the last or the second dimension where none is named."""
_OF_SAMPLES = frozenset("cross_entropy nll_loss".split())
"""Losses with a number for each row where they are told not to reduce."""


def operands(call: ast.Call, name: str, of_torch: bool) -> list[ast.expr] | None:
    """The tensors whose rows a call takes, each by itself; None where it is no such call.

    `name`: what it calls, without the underscore of changes in place; `of_torch`: a function of torch's, not a method.
    """
    if name in _OF_SAMPLES and of_torch:
        unreduced = is_literal(keyword(call, "reduction"), "none")
        return call.args[:2] if unreduced and len(call.args) > 1 else None
    if name in _PAIRS and of_torch:
        return call.args[:2] if _is_within(keyword(call, "dim"), default=True) else None
    if name not in _ALONG:
        return None
    given = call.args[1:] if of_torch else call.args
    first = given[0] if given and name not in ("norm", "vector_norm", "normalize") else None
    dim = keyword(call, "dim") or keyword(call, "axis") or first
    if not _is_within(dim, default=name == "normalize" and len(given) < 2):
        return None
    if of_torch:
        return call.args[:1] or None
    return [call.func.value] if isinstance(call.func, ast.Attribute) else None


def _is_within(dim: ast.expr | None, *, default: bool) -> bool:
    """Whether a dimension is none that a mask shrinks: that is the first; what has no other is asked without one."""
    if dim is None:
        return default
    number = literal_of(dim)
    return type(number) is int and (number > 0 or number == -1)
