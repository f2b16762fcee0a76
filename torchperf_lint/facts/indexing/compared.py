"""Losses that what a mask selects is given to, by what they are, and by what they are called."""

from __future__ import annotations

import ast
import re

from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.patterns import pattern

_LOSSES = pattern(
    r"^(?:cross_entropy|nll_loss|kl_div|l1_loss|mse_loss|smooth_l1_loss|huber_loss|binary_cross_entropy\w*|"
    r"gaussian_nll_loss|poisson_nll_loss|cosine_similarity)$"
)
_LOSS_CLASSES = pattern(
    r"^torch\.nn\.(?:modules\.loss\.)?(?:CrossEntropy|NLL|KLDiv|L1|MSE|SmoothL1|Huber|BCE|BCEWithLogits|GaussianNLL|"
    r"PoissonNLL)Loss\(\)$"
)
_CALLED_LOSS = pattern(
    r"^(?:crit|criteri(?:on|a)\w*|loss_(?:fn|fct|func|function|module|f)|(?:ce|bce|mse|l1|l2|nll|cls|reg)_?(?:loss|crit)\w*|"
    r"cross_entropy_loss|(?:ce|bce|mse|l1|nll))$",
    re.IGNORECASE,
)
"""Losses of single elements by what they are called, whatever they are made of: they compare two tensors."""


def is_loss(denoted: str) -> bool:
    """Whether a function or an instance is a loss of torch's that is a sum or mean over elements."""
    of_functions = denoted.startswith("torch.nn.functional.") and _LOSSES.match(last_part(denoted)) is not None
    return of_functions or _LOSS_CLASSES.match(denoted) is not None


def is_called_loss(name: str, call: ast.Call) -> bool:
    """Whether a call is of what is called a loss of single elements, and is given two tensors to compare."""
    return _CALLED_LOSS.match(name) is not None and _compares_two(call)


def _compares_two(call: ast.Call) -> bool:
    """Whether a loss is given two tensors at least, predictions and what they should be."""
    return sum(not isinstance(argument, ast.Constant) for argument in call.args) > 1
